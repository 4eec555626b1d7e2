import type { Plan } from '../../domain/live/forklift.ts';
import type { Matcher, Network, VirtualMachine, VmiSpec } from '../../domain/live/kubevirt.ts';
import { fingerprint } from '../../domain/fingerprint.ts';
import { canonical } from '../../domain/same.ts';
import { portableLabels } from '../run/names.ts';
import { recordIn, restoredStrategyOf, STRATEGIES, type RunRecord } from '../run/record.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { missingPaths, pathsIn } from './differences.ts';

/**
 * Returns the paths of the source VM that were edited during the run, and are not so on the target: its copy was made from the VM as it was
 * then. Without a record nothing tells whether the VM was edited. Its run strategy is in the record, because the source VM is Halted now.
 */
export function editsNotOnTarget(snapshot: RunSnapshot): string[] {
  const { source, target } = snapshot;
  const record = recordIn(snapshot);
  if (source.vm === undefined || target.vm === undefined || record === undefined) return [];
  const { changedTo } = record;
  const strategies = changedTo === undefined ? [] : strategiesNotOn(target.vm, [changedTo]);
  const edited = { vm: source.vm, copy: target.vm, plan: snapshot.hub.plan };
  return [...strategies, ...editedFields(edited, record.fingerprint)].slice(0, MAX_PATHS);
}

interface Copied {
  readonly vm: VirtualMachine;
  readonly copy: VirtualMachine;
  readonly plan: Plan;
}

/** Returns the paths of fields; none without a fingerprint, because nothing tells then whether a field was edited. */
function editedFields({ vm, copy, plan }: Copied, before: string | undefined): string[] {
  if (before === undefined) return [];
  const [whole, parts = ''] = before.split(' ');
  if (whole === wholeOf(vm)) return [];
  const had = new Set(parts.match(/.{6}/g));
  const now = new Set(partsOf(vm).map(short));
  const { lacking, beyond, networks } = differences(vm, copy, plan);
  const edited = [
    ...lacking,
    // The target's KubeVirt adds fields to the copy that the source VM never had.
    ...beyond.filter((path) => had.has(short(path))),
    // The map gives a network another name on the target.
    ...networks.filter(({ own }) => had.size > 0 && now.has(short(own)) && !had.has(short(own))).map(there),
  ];
  return edited.map(ofVm);
}

/** Returns these strategies as paths, without the one that the copy has. The source VM has none of them any more: it is Halted. */
const strategiesNotOn = (copy: VirtualMachine, those: readonly RunRecord['runStrategy'][]): string[] =>
  those
    .map((runStrategy) => restoredStrategyOf({ runStrategy }))
    .filter((strategy) => strategy !== copy.spec.runStrategy)
    .map((strategy) => `spec.runStrategy (was set to ${strategy})`);

/**
 * Returns a short text by which edits of the VM's labels and spec are known: a hash of all, which changes with any, and a short one of each
 * path. Its run strategy does not count, which KubeVirt and the run change (record.ts, changedTo). A generation would count these too, and no labels.
 */
export const fingerprintOf = (vm: VirtualMachine): string =>
  `${wholeOf(vm)} ${partsOf(vm).map(short).join('')}`;

function wholeOf({ metadata, spec }: VirtualMachine): string {
  const { running: _running, runStrategy: _strategy, ...edited } = spec;
  return fingerprint(canonical([portableLabels(metadata.labels), edited]));
}

const short = (text: string): string => fingerprint(text).slice(-6);

/** Paths in a status, at most. */
const MAX_PATHS = 20;

/** Returns all paths that are not the same on the VM and its copy, whichever of them was edited, and each strategy but the copy's. */
export function pathsNotOnTarget(vm: VirtualMachine, copy: VirtualMachine, plan: Plan): string[] {
  const { lacking, beyond, networks } = differences(vm, copy, plan);
  return [...strategiesNotOn(copy, STRATEGIES), ...[...lacking, ...beyond, ...networks.map(there)].map(ofVm)];
}

interface Differences {
  /** Paths that the copy lacks, or has otherwise. */
  readonly lacking: readonly string[];
  /** Paths that only the copy has. */
  readonly beyond: readonly string[];
  /** Networks that both have, each under the name of its cluster. */
  readonly networks: readonly MultusNetwork[];
}

function differences(vm: VirtualMachine, copy: VirtualMachine, { spec }: Plan): Differences {
  const [wanted, actual] = [comparable(vm, spec), comparable(copy, spec)];
  const lacking = [...new Set(missingPaths(wanted, actual, 'VM'))];
  const beyond = missingPaths(actual, wanted, 'VM').filter((path) => !lacking.includes(path));
  const networks = multusIn(vm).flatMap((own) => {
    const other = multusIn(copy).find(({ path }) => path === own.path);
    return other === undefined ? [] : [{ path: own.path, own: own.text, name: other.name }];
  });
  return { lacking, beyond: [...new Set(beyond)], networks };
}

interface MultusNetwork {
  readonly path: string;
  /** The path with the source's name of the network. */
  readonly own: string;
  /** The target's name of the network. */
  readonly name: string;
}

/** The path with the target's name: it is another one once the VM is edited there. */
const there = ({ path, name }: MultusNetwork): string => `${path} (${name} on the target)`;

const ofVm = (path: string): string => path.replace(/^VM\./, '');

const multusIn = ({ spec }: VirtualMachine): { path: string; name: string; text: string }[] =>
  (spec.template.spec.networks ?? []).flatMap(({ name: of, multus }) => {
    const path = `VM.spec.template.spec.networks[${of}].multus.networkName`;
    return multus === undefined
      ? []
      : [{ path, name: multus.networkName, text: `${path}=${multus.networkName}` }];
  });

/** All paths of the VM, as the differences name them, and its networks. */
const partsOf = (vm: VirtualMachine): string[] => [
  ...pathsIn(comparable(vm, {}), 'VM'),
  ...multusIn(vm).map(({ text }) => text),
];

/** The fields that the plan gives the copy. */
type OfPlan = Pick<Plan['spec'], 'targetLabels' | 'targetNodeSelector' | 'targetAffinity'>;

interface Comparable {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly template: { readonly metadata: object; readonly spec: VmiSpec };
  };
}

/** Returns the VM without the parts that the run or the plan gives its copy (standby-vm.ts). */
function comparable({ metadata, spec }: VirtualMachine, plan: OfPlan): Comparable {
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
  { targetLabels = {} }: OfPlan,
): Record<string, string> =>
  Object.fromEntries(Object.entries(portableLabels(labels)).filter(([key]) => !(key in targetLabels)));

const unrevised = ({ revisionName: _revision, ...named }: Matcher): Matcher => named;

const unmapped = ({ multus, ...network }: Network): Network =>
  multus === undefined ? network : { ...network, multus: { networkName: '' } };
