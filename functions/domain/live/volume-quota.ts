import type { ResourceQuota } from '../objects.ts';
import { parseQuantity, type Amount } from '../quantity.ts';
import { describeShortfalls } from '../quota/charged.ts';
import { blockingOf } from '../quota/headroom.ts';
import type { NewVolume } from './volumes.ts';

/** Of quotas, as admission charges a claim (kubernetes pkg/quota/v1/evaluator/core/persistent_volume_claims.go). */
const COUNTS = ['persistentvolumeclaims', 'count/persistentvolumeclaims'];
const STORAGE = 'requests.storage';
const ofClass = (storageClass: string, key: string): string =>
  `${storageClass}.storageclass.storage.k8s.io/${key}`;

/**
 * What the quotas of the target namespace lack for these new volumes, in words; empty: nothing. It is the least that they need: while
 * CDI fills a DataVolume it needs a claim of the same size and a pod besides (docs/facts/cross-cluster.md D2), which goes on by itself as soon as
 * there is room.
 */
export function missingForVolumes(volumes: readonly NewVolume[], quotas: readonly ResourceQuota[]): string {
  const need = new Map<string, Amount>();
  const add = (key: string, amount: Amount): unknown => need.set(key, (need.get(key) ?? 0n) + amount);
  for (const { storageClass, size } of volumes.map(requestOf)) {
    for (const key of [...COUNTS, ofClass(storageClass, 'persistentvolumeclaims')]) add(key, ONE);
    for (const key of [STORAGE, ofClass(storageClass, STORAGE)]) add(key, parseQuantity(size));
  }
  return quotas
    .filter(({ spec }) => (spec.scopes ?? []).length === 0 && spec.scopeSelector === undefined)
    .flatMap((quota) => blockingOf(quota, need, new Map()))
    .map(({ quota, shortfalls }) => `ResourceQuota ${quota.name} lacks ${describeShortfalls(shortfalls)}`)
    .join('; ');
}

const ONE = parseQuantity('1');

function requestOf({ spec }: NewVolume): { storageClass: string; size: string } {
  const { storageClassName = '', resources } = 'storage' in spec ? spec.storage : spec;
  return { storageClass: storageClassName, size: resources?.requests?.['storage'] ?? '0' };
}
