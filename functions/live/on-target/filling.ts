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

/** The requested size of a volume. */
export interface VolumeSize {
  /** A quantity. */
  readonly storage: string;
  readonly storageClass: string | undefined;
  readonly volumeMode: string | undefined;
}

/**
 * Returns the claim that CDI makes of a DataVolume. CDI adds its overhead to the request, by default 6 %, unless the volume is a block
 * device (facts/cross-cluster.md §D1).
 */
export const claimOfDataVolume = ({ storage, storageClass, volumeMode }: VolumeSize): ClaimSize =>
  claimOfSize(volumeMode === 'Block' ? storage : withOverhead(storage), storageClass);

/** Returns the size of a file system in which a disk of this size fits, by CDI's default overhead. KubeVirt keeps 5.5 % free. */
export const withOverhead = (size: string): string =>
  formatQuantity(roundUp((parseQuantity(size) * 100n + 93n) / 94n));

/**
 * Returns CDI's additional demands while it fills one DataVolume (facts/cross-cluster.md §D2): a pod, and a second claim like the first
 * one if populators fill it.
 */
export const fillingOf = (claims: readonly ClaimSize[]): Needed => ({ pods: [IMPORTER_POD], claims });

/** Whether CDI fills the volume only once its first consumer, the launcher, is on a node (facts/cross-cluster.md §D1). */
export const isUnfilled = ({ status }: DataVolume): boolean => status?.phase === 'PendingPopulation';

/**
 * Returns the missing amounts for filling the first volume that has no room, beside the kept objects; undefined if none are missing. Each
 * volume counts alone, because CDI tries again until there is room (facts/cross-cluster.md §D2).
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
 * Returns the fit of a launcher with the objects that come with it, and after it of CDI's demands for the volumes that wait for it: no
 * VMMRQ lets those in.
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
