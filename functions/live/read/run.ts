import type { Plan } from '../../domain/live/forklift.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import type { RunId } from '../run/names.ts';
import type { RunRecord } from '../run/record.ts';
import type { HubSide, RunSnapshot } from '../run/snapshot.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { isSettingUp, readSourceCore, readSourceSide } from './source.ts';
import { type VmAt } from './vmims.ts';
import { readTargetSide } from './target.ts';

/** The two clusters by the uids of their namespaces kube-system. */
export interface ClusterIds {
  readonly source: string;
  readonly target: string;
}

export interface RunRequest {
  readonly run: RunId;
  /** The VM on the source. */
  readonly at: VmAt;
  readonly hub: Omit<HubSide, keyof Maps | 'cluster'>;
  /** Reads the id of the hub: only a run without a record needs it. */
  readonly hubId: () => Promise<string>;
  /** Reads the maps: only the setup needs them. */
  readonly maps: () => Promise<Maps>;
  /** Ids of the clusters that the providers must still lead to. */
  readonly ids: ClusterIds;
  readonly clusters: { readonly source: Reader; readonly target: Reader };
  /** The reading before in the same event: which cluster it is, and when, is not asked again, nor what the VM uses on the source. */
  readonly before?: RunSnapshot | undefined;
}

export type Maps = Pick<HubSide, 'storage' | 'networks' | 'unread'>;

/** Returns maps that map nothing. */
export const noMaps = ({ metadata, spec: { provider } }: Plan): Maps => {
  const none = { metadata, spec: { provider, map: [] } };
  return { storage: none, networks: none };
};

/**
 * Reads one VM of a run on both clusters. The source is read first: after that reading the guest can only go to the target, which is read
 * later. Rejects unless every read was answered: then nothing is known, and nothing may be written.
 */
export async function readRun(request: RunRequest): Promise<RunSnapshot> {
  const { run, at, ids, clusters, before } = request;
  const core = await readSourceCore(clusters.source, { at, run, id: ids.source, known: before?.source });
  const { record, vm } = core;
  const hub = await readHub(request, record);
  const known = knownOf(before, vm);
  const source = readSourceSide(clusters.source, core, known?.source.setup);
  const planned = { namespace: hub.plan.spec.targetNamespace, name: hub.entry.targetName || at.name };
  const target = readTargetSide(
    clusters.target,
    { run, record, vm, at: record?.target ?? planned, storage: hub.storage, known: known?.target },
    source,
  );
  const [sourceSide, targetSide] = await Promise.all([source, target]);
  expectSame('source', sourceSide.cluster, ids.source);
  expectSame('target', targetSide.cluster, record?.target.cluster ?? ids.target);
  return { run, hub, source: sourceSide, target: targetSide };
}

/** Returns the reading before: without the setup if the VM has changed, because by now it may name other objects. */
function knownOf(before: RunSnapshot | undefined, vm: VirtualMachine | undefined): RunSnapshot | undefined {
  if (before === undefined) return undefined;
  const { source, target } = before;
  if (source.vm?.metadata.generation === vm?.metadata.generation) return before;
  return { ...before, source: { ...source, setup: undefined }, target: { ...target, setup: undefined } };
}

const readHub = async (
  { hub, hubId, maps }: RunRequest,
  record: RunRecord | undefined,
): Promise<HubSide> => ({
  ...hub,
  cluster: record?.hub ?? (await hubId()),
  ...(isSettingUp(record) ? await maps() : noMaps(hub.plan)),
});

/** Rejects another cluster, where everything would seem to be gone. */
function expectSame(side: string, found: string, wanted: string): void {
  if (found !== wanted)
    throw new Error(`the provider of the ${side} leads to another cluster than at the start`);
}
