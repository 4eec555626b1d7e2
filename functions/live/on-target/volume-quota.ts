import type { ResourceQuota } from '../../domain/objects.ts';
import { missingForClaims } from '../../domain/sizing/claims.ts';
import type { NewVolume } from './volumes.ts';

/**
 * Returns the amounts that the quotas of the target namespace lack for these new volumes, in words; empty if none. They are the least that
 * the volumes need: while CDI fills a DataVolume it needs a claim of the same size and a pod besides (docs/facts/cross-cluster.md D2),
 * which goes on by itself as soon as there is room.
 */
export const missingForVolumes = (volumes: readonly NewVolume[], quotas: readonly ResourceQuota[]): string =>
  missingForClaims(
    volumes.map(({ spec }) => ({ spec: 'storage' in spec ? spec.storage : spec })),
    quotas,
  );
