import type { Pod } from '../objects.ts';
import { formatQuantity, parseQuantity } from '../quantity.ts';
import { claimOfSize, type ClaimSize } from '../sizing/claims.ts';
import { roundUp } from '../sizing/growth.ts';
import type { DataVolume } from './kubevirt.ts';
import type { Needed } from './target-quota.ts';

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
export function claimOfDataVolume({ storage, storageClass, volumeMode }: VolumeSize): ClaimSize {
  const size =
    volumeMode === 'Block' ? storage : formatQuantity(roundUp((parseQuantity(storage) * 100n + 93n) / 94n));
  return claimOfSize(size, storageClass);
}

/**
 * What CDI takes besides while it fills DataVolumes (facts/cross-cluster.md §D2): a pod each, and a second claim of the same size where
 * populators fill them.
 */
export const fillingOf = (claims: readonly ClaimSize[]): Needed => ({
  pods: claims.map(() => IMPORTER_POD),
  claims,
});

/**
 * What CDI will take for the DataVolumes that wait for their first consumer, the launcher. Without populators it needs no second claim
 * (facts/cross-cluster.md §D1).
 */
export function fillingAtLaunch(volumes: readonly DataVolume[]): Needed {
  const inPhase = (wanted: string): DataVolume[] => volumes.filter(({ status }) => status?.phase === wanted);
  const { pods, claims } = fillingOf(inPhase('PendingPopulation').map(claimFor));
  const others = inPhase('WaitForFirstConsumer').map(() => IMPORTER_POD);
  return { pods: [...pods, ...others], claims };
}

const claimFor = ({ spec: { storage } }: DataVolume): ClaimSize =>
  claimOfDataVolume({
    storage: storage.resources.requests['storage'] ?? '0',
    storageClass: storage.storageClassName,
    volumeMode: storage.volumeMode,
  });
