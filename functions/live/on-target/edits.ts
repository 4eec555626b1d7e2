import type { Plan } from '../../domain/live/forklift.ts';
import type { Matcher, Network, VirtualMachine, VmiSpec } from '../../domain/live/kubevirt.ts';
import { fingerprint } from '../../domain/fingerprint.ts';
import { canonical } from '../../domain/same.ts';
import { portableLabels } from '../run/names.ts';
import { recordIn } from '../run/record.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { missingPaths } from './differences.ts';

/**
 * Returns the paths of the source VM that were edited during the run, and that its copy on the target does not have: the copy was made from
 * the VM as it was then. Without a record nothing tells whether the VM was edited.
 */
export function editsNotOnTarget(snapshot: RunSnapshot): string[] {
  const { source, target, hub } = snapshot;
  const before = recordIn(snapshot)?.fingerprint;
  if (source.vm === undefined || target.vm === undefined || before === undefined) return [];
  return before === fingerprintOf(source.vm) ? [] : pathsNotOnTarget(source.vm, target.vm, hub.plan);
}

/**
 * Returns a short text that is another one once the VM's labels or its spec are edited. Its run strategy does not count, which KubeVirt and
 * the run change. A generation would count these too, and no labels.
 */
export function fingerprintOf({ metadata, spec }: VirtualMachine): string {
  const { running: _running, runStrategy: _strategy, ...edited } = spec;
  return fingerprint(canonical([portableLabels(metadata.labels), edited]));
}

/** Paths in a status, at most. */
const MAX_PATHS = 20;

/** Returns the paths that the copy lacks or has otherwise, and the named parts that only the copy has. */
export function pathsNotOnTarget(vm: VirtualMachine, copy: VirtualMachine, { spec }: Plan): string[] {
  const [wanted, actual] = [comparable(vm, spec), comparable(copy, spec)];
  const paths = [
    ...missingPaths(wanted, actual, 'VM'),
    ...LISTS.flatMap(({ of, path }) => missingPaths(of(actual).map(nameAlone), of(wanted), path)),
  ];
  return [...new Set(paths)].map((path) => path.replace(/^VM\./, '')).slice(0, MAX_PATHS);
}

interface Comparable {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly template: { readonly metadata: object; readonly spec: VmiSpec };
  };
}

/** Returns the VM without the parts that the run or the plan gives its copy (standby-vm.ts). */
function comparable({ metadata, spec }: VirtualMachine, plan: Plan['spec']): Comparable {
  const { running: _running, runStrategy: _strategy, dataVolumeTemplates: _templates, ...rest } = spec;
  const { instancetype, preference, template } = rest;
  const { networks, nodeSelector, affinity, ...guest } = template.spec;
  const { labels, annotations = {} } = template.metadata ?? {};
  return {
    metadata: { labels: ownLabels(metadata.labels, plan) },
    spec: {
      ...rest,
      ...(instancetype && { instancetype: unrevised(instancetype) }),
      ...(preference && { preference: unrevised(preference) }),
      template: {
        metadata: { labels: ownLabels(labels, plan), annotations },
        spec: {
          ...guest,
          ...(networks && { networks: networks.map(unmapped) }),
          ...(plan.targetNodeSelector === undefined && nodeSelector && { nodeSelector }),
          ...(plan.targetAffinity === undefined && affinity && { affinity }),
        },
      },
    },
  };
}

const ownLabels = (
  labels: Readonly<Record<string, string>> | undefined,
  { targetLabels = {} }: Plan['spec'],
): Record<string, string> =>
  Object.fromEntries(Object.entries(portableLabels(labels)).filter(([key]) => !(key in targetLabels)));

const unrevised = ({ revisionName: _revision, ...named }: Matcher): Matcher => named;

const unmapped = ({ multus, ...network }: Network): Network =>
  multus === undefined ? network : { ...network, multus: { networkName: '' } };

interface List {
  readonly path: string;
  readonly of: (vm: Comparable) => readonly { readonly name: string }[];
}

const TEMPLATE = 'spec.template.spec';

/** Parts that a user takes out of the VM. Defaults of the target add none to these. */
const LISTS: readonly List[] = [
  { path: 'metadata.labels', of: ({ metadata }) => namesIn(metadata.labels) },
  { path: `${TEMPLATE}.volumes`, of: ({ spec }) => spec.template.spec.volumes ?? [] },
  { path: `${TEMPLATE}.networks`, of: ({ spec }) => spec.template.spec.networks ?? [] },
  {
    path: `${TEMPLATE}.domain.devices.disks`,
    of: ({ spec }) => spec.template.spec.domain.devices?.disks ?? [],
  },
  {
    path: `${TEMPLATE}.domain.devices.interfaces`,
    of: ({ spec }) => spec.template.spec.domain.devices?.interfaces ?? [],
  },
];

const namesIn = (labels: Readonly<Record<string, string>>): { readonly name: string }[] =>
  Object.keys(labels).map((name) => ({ name }));

const nameAlone = ({ name }: { readonly name: string }): { readonly name: string } => ({ name });
