import { GITOPS } from '../run/gitops.ts';
import { BOUND_ANNOTATIONS, LIVE_ANNOTATION, LIVE_KIND, LIVE_KUBEVIRT } from '../../domain/live/names.ts';
import type { NetworkEntry, NetworkMap, Plan } from '../../domain/live/forklift.ts';
import {
  WAIT_AS_RECEIVER,
  type Interface,
  type Network,
  type VirtualMachine,
  type Vmi,
  type VmiSpec,
} from '../../domain/live/kubevirt.ts';
import type { NewObject } from '../run/decision.ts';
import { restoredStrategyOf, type RunRecord } from '../run/record.ts';
import { portableLabels, runLabels, type RunId } from '../run/names.ts';

export interface StandbyInput {
  readonly run: RunId;
  readonly record: Pick<RunRecord, 'runStrategy' | 'target'>;
  readonly plan: Plan;
  readonly networks: NetworkMap;
  readonly vm: VirtualMachine;
  readonly vmi: Vmi;
}

/**
 * Returns the VM that waits on the target: the source's own, without the parts of its cluster, and with the parts that the guest has from
 * its VMI alone (MAC addresses, firmware uuid and serial). KubeVirt gives it its run strategy when the guest has arrived. Without the
 * restore annotation it would wait for a guest again after its next stop (facts/cross-cluster.md §C1).
 */
export function standbyVm({ run, record, plan, networks, vm, vmi }: StandbyInput): NewObject<VirtualMachine> {
  const { running: _running, dataVolumeTemplates: _templates, ...spec } = vm.spec;
  const { metadata, spec: template } = vm.spec.template;
  const { targetLabels = {} } = plan.spec;
  return {
    ...LIVE_KIND.vm,
    metadata: {
      name: record.target.name,
      namespace: record.target.namespace,
      labels: { ...portableLabels(vm.metadata.labels), ...targetLabels, ...runLabels(run) },
      annotations: {
        ...portable(vm.metadata.annotations),
        [LIVE_KUBEVIRT.restoreRunStrategy]: restoredStrategyOf(record),
      },
    },
    spec: {
      ...spec,
      ...matcher('instancetype', vm),
      ...matcher('preference', vm),
      runStrategy: WAIT_AS_RECEIVER,
      template: {
        metadata: {
          ...metadata,
          labels: { ...portableLabels(metadata?.labels), ...targetLabels },
        },
        spec: placed(withGuestsOwn(mapped(template, networks, vm), vmi), plan),
      },
    },
  };
}

/** Networks of the VM that the map does not bring to a network of the target, in words (facts/cross-cluster.md §A3). */
export function unmappedNetworks(vm: VirtualMachine, networks: NetworkMap): string[] {
  const multus = (vm.spec.template.spec.networks ?? []).filter((network) => network.multus !== undefined);
  return multus.flatMap((network) => {
    const source = sourceNetworkOf(network, vm);
    const destination = entryOf(source, networks)?.destination;
    if (destination?.type === 'multus') return [];
    const how = destination === undefined ? 'is not in the map' : `is mapped to ${destination.type}`;
    return [`network ${network.name} (${source}) ${how}`];
  });
}

/**
 * Networks of the VM that shall be the pod network of the target, of which KubeVirt gives a VM one. The VM's own pod network stays one,
 * whatever the map says.
 */
export const podNetworks = (vm: VirtualMachine, networks: NetworkMap): string[] =>
  (vm.spec.template.spec.networks ?? [])
    .filter(
      (network) =>
        network.pod !== undefined ||
        (network.multus !== undefined &&
          entryOf(sourceNetworkOf(network, vm), networks)?.destination.type === 'pod'),
    )
    .map(({ name }) => name);

const BOUND: readonly string[] = [
  ...BOUND_ANNOTATIONS,
  ...GITOPS.annotations,
  LIVE_ANNOTATION.run,
  LIVE_ANNOTATION.movedTo,
  LIVE_ANNOTATION.nextCrash,
];

/** Annotations that are about the VM, and not about its cluster or its history there. */
const portable = (annotations: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).filter(([key]) => !BOUND.includes(key)));

/** Returns the matcher by its name: the revision is an object of the source's. */
function matcher(field: 'instancetype' | 'preference', { spec }: VirtualMachine): object {
  const { revisionName: _revision, ...named } = spec[field] ?? {};
  return spec[field] === undefined ? {} : { [field]: named };
}

const mapped = (template: VmiSpec, networks: NetworkMap, vm: VirtualMachine): VmiSpec =>
  template.networks === undefined
    ? template
    : { ...template, networks: template.networks.map((network) => onTarget(network, networks, vm)) };

function onTarget(network: Network, networks: NetworkMap, vm: VirtualMachine): Network {
  if (network.multus === undefined) return network;
  const destination = entryOf(sourceNetworkOf(network, vm), networks)?.destination;
  if (destination?.type !== 'multus') return network;
  const networkName = `${destination.namespace ?? ''}/${destination.name ?? ''}`;
  return { ...network, multus: { ...network.multus, networkName } };
}

/** Returns the source network as `namespace/name`: without a namespace it is in the VM's. */
function sourceNetworkOf({ multus }: Network, { metadata }: VirtualMachine): string {
  const name = multus?.networkName ?? '';
  return name.includes('/') ? name : `${metadata.namespace ?? ''}/${name}`;
}

const entryOf = (network: string, { spec }: NetworkMap): NetworkEntry | undefined =>
  spec.map.find(({ source }) => mappedNetworkOf(source) === network);

/**
 * Returns `namespace/name` of the network that an entry is for; undefined if the entry lacks one of them. Such an entry matches none, also
 * by its id.
 */
export const mappedNetworkOf = ({
  namespace = '',
  name = '',
}: NetworkEntry['source']): string | undefined => {
  if (name.includes('/')) return name;
  return namespace === '' || name === '' ? undefined : `${namespace}/${name}`;
};

/** Returns the template with KubeVirt's choices for the guest at its start: the guest keeps them, because it is not started again. */
function withGuestsOwn(template: VmiSpec, vmi: Vmi): VmiSpec {
  const { uuid, serial } = vmi.spec.domain.firmware ?? {};
  const chosen = Object.fromEntries(
    Object.entries({ uuid, serial }).filter(([, value]) => value !== undefined),
  );
  const { devices, firmware } = template.domain;
  const interfaces = devices?.interfaces?.map((each) => withMac(each, vmi));
  return {
    ...template,
    domain: {
      ...template.domain,
      firmware: { ...chosen, ...firmware },
      ...(devices === undefined ? {} : { devices: { ...devices, ...(interfaces && { interfaces }) } }),
    },
  };
}

function withMac(one: Interface, { spec, status }: Vmi): Interface {
  const chosen =
    spec.domain.devices?.interfaces?.find(({ name }) => name === one.name)?.macAddress ??
    status?.interfaces?.find(({ name }) => name === one.name)?.mac;
  return one.macAddress !== undefined || chosen === undefined ? one : { ...one, macAddress: chosen };
}

/** Returns the template with the plan's rules for its node, or else with the source's. */
const placed = (template: VmiSpec, { spec }: Plan): VmiSpec => ({
  ...template,
  ...(spec.targetNodeSelector && { nodeSelector: spec.targetNodeSelector }),
  ...(spec.targetAffinity && { affinity: spec.targetAffinity }),
});
