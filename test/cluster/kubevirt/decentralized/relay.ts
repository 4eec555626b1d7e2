/** What a synchronization controller writes into its VMI of what the other side's VMI says (facts/cross-cluster.md C3). Pure. */
import { mergeBetween } from '../vm-controller/merge-between.ts';
import type { MigratedVolume, MigrationState, VmiStatus } from '../objects/types.ts';

/** The merge patch of the target's VMI status; undefined: nothing changes. */
export function fromSource(own: VmiStatus = {}, source: VmiStatus = {}): object | undefined {
  const { sourceState = {}, ...theirs } = source.migrationState ?? {};
  return patchOf(own, {
    ...own,
    migrationState: {
      ...own.migrationState,
      sourceState,
      ...defined({ sourceNode: sourceState.node, sourcePod: sourceState.pod }),
      ...copied(theirs, ALWAYS),
      ...(theirs.abortRequested === true && theirs.endTimestamp !== undefined ? copied(theirs, ENDED) : {}),
    },
    ...defined({
      migrationMethod: source.migrationMethod,
      migrationTransport: source.migrationTransport,
      migratedVolumes: withSources(own.migratedVolumes, source.migratedVolumes),
    }),
  });
}

/** The same of the source's VMI: completed and failed always, which is why a failure of the target reaches the source. */
export function fromTarget(own: VmiStatus = {}, target: VmiStatus = {}): object | undefined {
  const { targetState = {}, ...theirs } = target.migrationState ?? {};
  return patchOf(own, {
    ...own,
    migrationState: {
      ...own.migrationState,
      targetState,
      ...defined({
        targetNode: targetState.node,
        targetPod: targetState.pod,
        targetNodeAddress: targetState.nodeAddress,
        targetDirectMigrationNodePorts: targetState.directMigrationNodePorts,
        targetNodeDomainDetected: targetState.domainDetected,
        targetNodeDomainReadyTimestamp: targetState.domainReadyTimestamp,
      }),
      ...copied(theirs, [...ALWAYS, 'completed', 'failed']),
    },
    ...defined({ migratedVolumes: withDestinations(own.migratedVolumes, target.migratedVolumes) }),
  });
}

const ALWAYS = ['startTimestamp', 'endTimestamp', 'migrationPolicyName', 'migrationConfiguration'];
/** Only of a source that was asked to abort: a failure of the source itself is not relayed. */
const ENDED = ['completed', 'failed', 'abortStatus', 'failureReason'];

const copied = (from: MigrationState, fields: readonly string[]): MigrationState =>
  defined(Object.fromEntries(fields.map((field) => [field, from[field]])));

const defined = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

function patchOf(own: VmiStatus, next: VmiStatus): object | undefined {
  // A VMI that has completed is not written any more.
  if (own.migrationState?.completed === true) return undefined;
  const status = mergeBetween(own, next);
  return Object.keys(status).length === 0 ? undefined : { status };
}

type Volumes = readonly MigratedVolume[];

function withSources(own: Volumes = [], theirs: Volumes = []): MigratedVolume[] | undefined {
  if (theirs.length === 0) return undefined;
  const merged = own.flatMap((volume) => {
    const source = theirs.find(({ volumeName }) => volumeName === volume.volumeName)?.sourcePVCInfo;
    return source === undefined ? [] : [{ sourcePVCInfo: source, ...volume }];
  });
  const known = new Set(merged.map(({ volumeName }) => volumeName));
  return [...merged, ...theirs.filter(({ volumeName }) => !known.has(volumeName))];
}

function withDestinations(own: Volumes = [], theirs: Volumes = []): MigratedVolume[] | undefined {
  if (own.length === 0) return undefined;
  return own.map((volume) => {
    const destination = theirs.find(({ volumeName }) => volumeName === volume.volumeName)?.destinationPVCInfo;
    return destination === undefined ? volume : { ...volume, destinationPVCInfo: destination };
  });
}
