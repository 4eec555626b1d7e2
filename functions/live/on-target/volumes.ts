import { shown } from '../../domain/foreign-text.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { NewObject } from '../run/decision.ts';
import { withOverhead } from './filling.ts';
import type { StorageEntry, StorageMap } from '../../domain/live/forklift.ts';
import {
  sizeOf,
  type Claim,
  type ClaimProperties,
  type DataVolume,
  type VirtualMachine,
  type Volume,
} from '../../domain/live/kubevirt.ts';
import { LIVE_KIND, LIVE_KUBEVIRT, LIVE_LABEL } from '../../domain/live/names.ts';
import { runLabels, type RunId } from '../run/names.ts';

/** A volume of the VM that must be there, empty, before its guest arrives. */
export interface NeededVolume {
  /** The name of the volume in the VM. */
  readonly volume: string;
  /** The name of the DataVolume or claim, on both clusters. */
  readonly name: string;
  readonly isDataVolume: boolean;
}

/** Returns the volumes of the VM that are copied. */
export const neededVolumes = ({ spec }: VirtualMachine): NeededVolume[] =>
  (spec.template.spec.volumes ?? []).flatMap((volume) => needed(volume) ?? []);

function needed({ name: volume, ...source }: Volume): NeededVolume | undefined {
  if (source.dataVolume !== undefined) return { volume, name: source.dataVolume.name, isDataVolume: true };
  const claim = source.persistentVolumeClaim?.claimName;
  return claim === undefined ? undefined : { volume, name: claim, isDataVolume: false };
}

/**
 * Returns the disks that KubeVirt does not bring to another cluster, in words, with what to do: it copies DataVolumes and claims, as plain
 * disks (facts/cross-cluster.md §C1, §C7).
 */
export function fixedDisks({ spec }: VirtualMachine): string[] {
  const { domain, volumes = [] } = spec.template.spec;
  const { disks = [], filesystems = [] } = domain.devices ?? {};
  return [
    ...volumes
      .filter(({ ephemeral }) => ephemeral !== undefined)
      .map(({ name }) => `volume ${name} is ephemeral: make it a DataVolume or a claim, or remove it`),
    ...volumes
      .filter(({ memoryDump }) => memoryDump !== undefined)
      .map(({ name }) => `volume ${name} is a memory dump: remove it (virtctl memory-dump remove)`),
    // The guest would get a token of the target's account of that name, with that one's rights.
    ...volumes
      .filter(({ serviceAccount }) => serviceAccount !== undefined)
      .map(
        ({ name }) => `volume ${name} mounts a ServiceAccount, which is another one on the target: remove it`,
      ),
    ...disks
      .filter(({ shareable }) => shareable === true)
      .map(({ name }) => `disk ${name} is shareable: make it a disk of this VM alone, or remove it`),
    ...disks
      .filter(({ lun }) => lun !== undefined)
      .map(({ name }) => `disk ${name} is a LUN: make it a disk, or remove it`),
    ...filesystems.map(
      ({ name }) => `filesystem ${name} is shared by virtiofs: make it a disk, or remove it`,
    ),
  ];
}

export interface VolumeInput {
  readonly run: RunId;
  readonly namespace: string;
  readonly storage: StorageMap;
  /** The source's claims by name. */
  readonly claims: ReadonlyMap<string, Claim>;
  /** Modes that a storage class offers, by its StorageProfile. */
  readonly claimProperties: ReadonlyMap<string, readonly ClaimProperties[]>;
}

/** An empty volume on the target. */
export type NewVolume = NewObject<DataVolume> | NewObject<Claim>;

export type TargetVolume =
  | { readonly kind: 'volume'; readonly object: NewVolume }
  /** The problem that keeps the volume from being made, with what to do. */
  | { readonly kind: 'problem'; readonly problem: string };

/**
 * Returns the empty volume on the target, as large as the claim on the source (facts/cross-cluster.md §D). Only the name and the size of
 * the source's claim are copied: annotations of its provisioner would keep it from being bound.
 */
export function targetVolume(
  needed: NeededVolume,
  { run, namespace, storage, claims, claimProperties }: VolumeInput,
): TargetVolume {
  const claim = claims.get(needed.name);
  if (claim === undefined)
    return problem(`volume ${needed.volume}: its claim ${needed.name} is not on the source`);
  const size = sizeOf(claim);
  const storageClass = claim.spec.storageClassName ?? '';
  const entry = storageEntryOf(storageClass, storage);
  if (entry === undefined || size === undefined) {
    const what =
      size === undefined ? 'has no size' : `is of storage class ${storageClass}, which is not mapped`;
    return problem(
      `volume ${needed.volume}: its claim ${needed.name} ${what}: add it to the StorageMap, by source.name`,
    );
  }
  const metadata = { name: needed.name, namespace, labels: runLabels(run) };
  if (needed.isDataVolume) return { kind: 'volume', object: dataVolume(metadata, entry, size) };
  const modes = modesOf(entry, claim, claimProperties.get(entry.destination.storageClass) ?? []);
  if (modes === undefined)
    return problem(
      `volume ${needed.volume}: no access mode is known for storage class ${entry.destination.storageClass}: set ` +
        'destination.accessMode in the StorageMap',
    );
  return { kind: 'volume', object: claimOf(metadata, entry, { size: sizeIn(modes, claim, size), modes }) };
}

const problem = (text: string): TargetVolume => ({ kind: 'problem', problem: text });

/** The entry of a storage class; an entry by id matches none, as in Forklift. */
export const storageEntryOf = (storageClass: string, { spec }: StorageMap): StorageEntry | undefined =>
  spec.map.find(({ source }) => source.name === storageClass);

/** Returns the size to request. CDI adds its overhead to a DataVolume; a claim gets none. */
const sizeIn = (modes: Modes, { spec }: Claim, size: string): string =>
  modeIn(spec) === 'Block' && modeIn(modes) !== 'Block' ? withOverhead(size) : size;

type Modes = Required<Pick<ClaimProperties, 'accessModes'>> & Pick<ClaimProperties, 'volumeMode'>;

/**
 * Returns the modes of the map, and the rest from one set of the StorageProfile, because a class may offer an access mode with one volume
 * mode only. A set with the volume mode that the disk has on the source comes first.
 */
function modesOf(
  { destination: { accessMode, volumeMode } }: StorageEntry,
  { spec }: Claim,
  sets: readonly ClaimProperties[],
): Modes | undefined {
  const fitting = sets.filter(
    (set) =>
      (accessMode === undefined || set.accessModes?.includes(accessMode) === true) &&
      (volumeMode === undefined || modeIn(set) === volumeMode),
  );
  const set = fitting.find((each) => modeIn(each) === modeIn(spec)) ?? fitting[0];
  const accessModes = accessMode === undefined ? (set?.accessModes ?? []) : [accessMode];
  const mode = volumeMode ?? set?.volumeMode;
  return accessModes.length === 0 ? undefined : { accessModes, ...(mode && { volumeMode: mode }) };
}

/** Returns the volume mode with the API server's default. */
const modeIn = ({ volumeMode = 'Filesystem' }: Pick<ClaimProperties, 'volumeMode'>): string => volumeMode;

type Metadata = NewObject['metadata'];

/**
 * Returns the DataVolume. CDI fills the parts that are left out from the StorageProfile. It is not bound at once: with populators the
 * launcher is the first consumer.
 */
const dataVolume = (
  metadata: Metadata,
  { destination: { storageClass, accessMode, volumeMode } }: StorageEntry,
  size: string,
): NewObject<DataVolume> => ({
  ...LIVE_KIND.dataVolume,
  // The annotation is Forklift's too: on clusters where CDI deletes DataVolumes that have succeeded, this one is still needed.
  metadata: { ...metadata, annotations: { [LIVE_KUBEVIRT.deleteAfterCompletion]: 'false' } },
  spec: {
    source: { blank: {} },
    storage: {
      storageClassName: storageClass,
      ...(accessMode && { accessModes: [accessMode] }),
      ...(volumeMode && { volumeMode }),
      resources: { requests: { storage: size } },
    },
  },
});

const claimOf = (
  metadata: Metadata,
  { destination: { storageClass } }: StorageEntry,
  { size, modes }: { readonly size: string; readonly modes: Modes },
): NewObject<Claim> => ({
  ...LIVE_KIND.claim,
  metadata,
  spec: {
    storageClassName: storageClass,
    ...modes,
    resources: { requests: { storage: size } },
  },
});

/** Describes a volume that is in the way of one of this VM: it may be in use, and have the newest data. `vm`: its uid. */
export function inTheWay({ kind = '', metadata: { name, labels } }: KubernetesObject, vm: string): string {
  const of = labels?.[LIVE_LABEL.vm];
  if (of === undefined)
    return `a ${kind} ${name}, which no run made, is on the target: delete it there if nothing uses it`;
  return of === vm
    ? `the ${kind} ${name} on the target is of an earlier run of this VM: delete it there if no VM has it, not even one that is off`
    : `the ${kind} ${name} on the target is a disk of another VM that was moved: do not delete it. No disk that VMs share can be moved ` +
        'with each of them: give this VM one of its own';
}

/** Returns the state of a volume on the target. A claim without a DataVolume waits for its consumer, so it is ready once it is there. */
export function readiness(object: KubernetesObject): 'ready' | 'pending' | 'failed' {
  const { phase } = (object as DataVolume).status ?? {};
  if (phase === 'Failed' || phase === 'Lost') return 'failed';
  if (object.kind !== LIVE_KIND.dataVolume.kind) return 'ready';
  return READY.includes(phase) ? 'ready' : 'pending';
}

/**
 * Phases of a DataVolume that is ready. The second one waits for the launcher, which starts once the volume is filled
 * (facts/cross-cluster.md §D1).
 */
const READY: readonly (string | undefined)[] = ['Succeeded', 'PendingPopulation'];

/**
 * Returns the claim of a DataVolume without populators, to be bound at once: CDI would fill it once the launcher has bound it, and both
 * would write the same disk (docs/adr/0033). CDI reads that from the claim, which has the annotations that the DataVolume had when it was
 * made.
 */
export function claimToBind(
  { status, metadata: { uid } }: DataVolume,
  volumes: readonly KubernetesObject[],
): KubernetesObject | undefined {
  if (status?.phase !== 'WaitForFirstConsumer') return undefined;
  const claim = volumes.find(
    ({ kind, metadata }) =>
      kind === LIVE_KIND.claim.kind && metadata.ownerReferences?.some((owner) => owner.uid === uid) === true,
  );
  if (claim === undefined || claim.metadata.annotations?.[LIVE_KUBEVIRT.bindAtOnce] !== undefined)
    return undefined;
  const { metadata } = claim;
  const annotations = { ...metadata.annotations, [LIVE_KUBEVIRT.bindAtOnce]: 'true' };
  return { ...claim, metadata: { ...metadata, annotations } };
}

/** Returns CDI's reason why a volume is not ready. */
export function pendingMessage(object: KubernetesObject): string {
  const { phase, progress, conditions = [] } = (object as DataVolume).status ?? {};
  const why = conditions.find(({ status, message }) => status !== 'True' && (message ?? '') !== '')?.message;
  return [`${object.metadata.name} is ${phase ?? 'new'}`, shown(progress), shown(why)]
    .filter(Boolean)
    .join(', ');
}
