import type { Pod, ResourceQuota, Vmmrq } from '../objects.ts';
import { givingTo } from '../policy/policy.ts';
import { parseQuantity } from '../quantity.ts';
import { allowanceFrom } from '../quota/allowance.ts';
import { describeBlocking, isChargedByPods, type Blocking, type Shortfall } from '../quota/charged.ts';
import { blockingOf } from '../quota/headroom.ts';
import { quotaCoversPod } from '../quota/scopes.ts';
import { podUsage } from '../sizing/pod-usage.ts';
import type { Fit } from './run-snapshot.ts';

/**
 * Whether the VM's launcher fits in the quotas of the target namespace. The target's will be like the source's, which is known as it
 * was admitted. A VMMRQ that gives enough lets it in; but it stays, so the VM is over its quota from then on.
 */
export function fitOf(
  launcher: Pod,
  { quotas, vmmrqs }: { readonly quotas: readonly ResourceQuota[]; readonly vmmrqs: readonly Vmmrq[] },
): Fit {
  const need = podUsage(launcher);
  const covering = quotas.filter((quota) => quotaCoversPod(quota, launcher));
  const blocking = covering.flatMap((quota) => blockingOf(quota, need, new Map()));
  if (blocking.length === 0) return { missing: undefined, isLetIn: false };
  const allowance = allowanceFrom(givingTo(vmmrqs, { purpose: 'UserRequested', receives: true }));
  const isGiven = ({ quota, shortfalls }: Blocking): boolean => {
    const found = covering.find(({ metadata }) => metadata.uid === quota.uid);
    return (
      found !== undefined && shortfalls.every(({ key, missing }) => missing <= allowance(found, key).max)
    );
  };
  return { missing: blocking.map(describeBlocking).join('; '), isLetIn: blocking.every(isGiven) };
}

/** By how much a namespace is over its quotas, in words: what runs stays, and its next restart is refused. Empty: it is not. */
export function overQuota(quotas: readonly ResourceQuota[]): string {
  const over = quotas.flatMap((quota): Blocking[] => {
    const shortfalls = Object.entries(quota.spec.hard ?? {}).flatMap(([key, hard]): Shortfall[] => {
      const missing = parseQuantity(quota.status?.used?.[key] ?? '0') - parseQuantity(hard);
      return isChargedByPods(key) && missing > 0n ? [{ key, missing }] : [];
    });
    const { name, uid } = quota.metadata;
    return shortfalls.length === 0 ? [] : [{ quota: { name, uid }, shortfalls }];
  });
  return over.map(describeBlocking).join('; ');
}
