import type { Pod } from '../../domain/objects.ts';
import { formatQuantity, parseQuantity } from '../../domain/quantity.ts';
import { claimOfSize, type ClaimSize } from '../../domain/sizing/claims.ts';
import { roundUp } from '../../domain/sizing/growth.ts';
import { reserve } from '../../domain/quota/headroom.ts';
import type { DataVolume } from '../../domain/live/kubevirt.ts';
import type { Fit } from '../run/snapshot.ts';
import { chargedBy, fitOf, type Needed, type TargetQuotas } from './quota.ts';

/** The pod with which CDI fills a DataVolume, with its default size (facts/cross-cluster.md §D1). */
export const IMPORTER_POD: Pod = {
  metadata: { name: 'importer', uid: '', resourceVersion: '', creationTimestamp: '' },
  spec: {
    containers: [
      {
        name: 'importer',
        resources: { requests: { cpu: '100m', memory: '60M' }, limits: { cpu: '750m', memory: '600M' } },
      },
    ],
  },
};

/** How much a volume is asked for. */
export interface VolumeSize {
  /** A quantity. */
  readonly storage: string;
  readonly storageClass: string | undefined;
  readonly volumeMode: string | undefined;
}

/**
 * The claim that CDI makes of a DataVolume: its overhead is added to what is asked for, of 6 % by default, unless the volume is a block
 * device (facts/cross-cluster.md §D1).
 */
export const claimOfDataVolume = ({ storage, storageClass, volumeMode }: VolumeSize): ClaimSize =>
  claimOfSize(volumeMode === 'Block' ? storage : withOverhead(storage), storageClass);

/** So that a disk of this size fits into a file system, by CDI's default overhead. KubeVirt keeps 5.5 % free. */
export const withOverhead = (size: string): string =>
  formatQuantity(roundUp((parseQuantity(size) * 100n + 93n) / 94n));

/**
 * What CDI takes besides while it fills one DataVolume (facts/cross-cluster.md §D2): a pod, and where populators fill it a second claim
 * like the first one.
 */
export const fillingOf = (claims: readonly ClaimSize[]): Needed => ({ pods: [IMPORTER_POD], claims });

/** Whether CDI fills the volume once its first consumer, the launcher, is on a node (facts/cross-cluster.md §D1). */
export const isUnfilled = ({ status }: DataVolume): boolean => status?.phase === 'PendingPopulation';

/**
 * What is missing to fill the first volume that has no room, after what is kept; undefined: nothing. Each counts alone, because CDI
 * tries again until there is room (facts/cross-cluster.md §D2).
 */
export function missingToFill(
  volumes: readonly Needed[],
  kept: Needed,
  { quotas, vmmrqs, reserved = new Map() }: TargetQuotas,
): string | undefined {
  const before = new Map([...reserved].map(([uid, amounts]) => [uid, new Map(amounts)]));
  for (const quota of quotas) reserve(before, quota, chargedBy(quota, kept));
  const missing = volumes
    .map((volume) => fitOf(volume, { quotas, vmmrqs, reserved: before }).missing)
    .find((each) => each !== undefined);
  return missing && `${missing} while CDI fills its volumes`;
}

/**
 * Whether a launcher fits with what comes with it, and after it what CDI takes to fill the volumes that wait for it: no VMMRQ lets that
 * in.
 */
export function fitAtLaunch(
  { launch, filling }: { readonly launch: Needed; readonly filling: readonly Needed[] },
  room: TargetQuotas,
): Fit {
  const fit = fitOf(launch, room);
  if (fit.missing !== undefined && !fit.isLetIn) return fit;
  const missing = missingToFill(filling, launch, room);
  return missing === undefined ? fit : { missing, isLetIn: false };
}
