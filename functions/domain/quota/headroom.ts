import {
  canonicalKey,
  isChargedByPods,
  isOfDeviceClass,
  type Amounts,
  type Blocking,
  type Shortfall,
} from './charged.ts';
import { grantOf } from './grant.ts';
import type { ResourceQuota } from '../objects.ts';
import { describeAmountText, parseQuantity, sameQuantity, type Amount } from '../quantity.ts';

/**
 * Why admission cannot evaluate a pod by this quota yet; undefined: it can, because for every key that pods are charged for, status.hard
 * equals spec.hard and `used` is counted. The quota controller never counts a key that it does not know (count/ of a kind that is not
 * installed, or a device class in an older cluster): no pod waits for that. `asks`: whether the pod asks for what a canonical
 * key counts.
 */
export function statusUnknown(quota: ResourceQuota, asks: (key: string) => boolean): string | undefined {
  const { spec, status, metadata } = quota;
  const keys = Object.keys({ ...spec.hard, ...status?.hard }).filter(isChargedByPods);
  const isCounted = (key: string): boolean =>
    status?.used?.[key] !== undefined || (isOfDeviceClass(key) && !asks(key));
  const unknown = keys.filter((key) => !isFollowed(quota, key) || !isCounted(key));
  if (unknown.length === 0) return undefined;
  const key = unknown.find((each) => !isRaised(quota, each));
  if (key === undefined) return `ResourceQuota ${metadata.name} is raised, and is lowered first`;
  return `${describeUnknown(quota, key)}: the quota controller has not computed its status yet`;
}

const limitsOf = (
  { spec, status }: ResourceQuota,
  key: string,
): Record<'want' | 'have', string | undefined> => ({
  want: spec.hard?.[key],
  have: status?.hard?.[key],
});

function isFollowed(quota: ResourceQuota, key: string): boolean {
  const { want, have } = limitsOf(quota, key);
  return want !== undefined && have !== undefined && sameQuantity(want, have);
}

/** Whether status.hard has what our own grant has written. */
function isRaised(quota: ResourceQuota, key: string): boolean {
  const state = grantOf(quota);
  const raised = state.kind === 'held' ? state.grant.raised[key] : undefined;
  const { have } = limitsOf(quota, key);
  return raised !== undefined && have !== undefined && sameQuantity(raised, have);
}

function describeUnknown(quota: ResourceQuota, key: string): string {
  const { name } = quota.metadata;
  if (isFollowed(quota, key)) return `ResourceQuota ${name} has no ${key} in status.used`;
  const { want, have } = limitsOf(quota, key);
  const [wanted, enforced] = [want, have].map((text) => text && describeAmountText(key, text));
  // Exactly where both would read alike.
  const isExact = wanted === enforced;
  const value = (exact: string | undefined): string =>
    exact === undefined ? `no ${key}` : `${key}=${isExact ? exact : describeAmountText(key, exact)}`;
  return `ResourceQuota ${name} has ${value(want)} in spec.hard, and ${value(have)} in status.hard`;
}

/** Reserved amounts, by quota uid and canonical key. */
export type Reserved = ReadonlyMap<string, ReadonlyMap<string, Amount>>;

/** What this quota lacks for `need`, after the reserved amounts; empty: it has the headroom. */
export function blockingOf(quota: ResourceQuota, need: Amounts, reserved: Reserved): Blocking[] {
  const before = reserved.get(quota.metadata.uid) ?? new Map<string, Amount>();
  const shortfalls = Object.keys(quota.status?.hard ?? {}).flatMap((key): Shortfall[] => {
    const canonical = canonicalKey(key);
    const wanted = need.get(canonical) ?? 0n;
    const missing = wanted + (before.get(canonical) ?? 0n) - headroomOf(quota, key);
    return wanted > 0n && missing > 0n ? [{ key, missing }] : [];
  });
  const reference = { name: quota.metadata.name, uid: quota.metadata.uid };
  return shortfalls.length === 0 ? [] : [{ quota: reference, shortfalls }];
}

/** Enforced minus used; negative when a quota was lowered below what runs. */
const headroomOf = ({ status }: ResourceQuota, key: string): Amount =>
  parseQuantity(status?.hard?.[key] ?? '0') - parseQuantity(status?.used?.[key] ?? '0');

/** What a key lacks for `need` (texts, by canonical key); 0n: nothing. undefined: what is used is not counted yet. */
export function missingOf(
  { spec, status }: ResourceQuota,
  key: string,
  need: Readonly<Record<string, string>>,
): Amount | undefined {
  const wanted = need[canonicalKey(key)];
  if (wanted === undefined) return 0n;
  const used = status?.used?.[key];
  if (used === undefined) return undefined;
  const missing = parseQuantity(used) + parseQuantity(wanted) - parseQuantity(spec.hard?.[key] ?? '0');
  return missing > 0n ? missing : 0n;
}

/** Adds `need` to the reserved amounts of this quota. */
export function reserve(
  reserved: Map<string, Map<string, Amount>>,
  quota: ResourceQuota,
  need: Amounts,
): void {
  const sum = reserved.get(quota.metadata.uid) ?? new Map<string, Amount>();
  for (const [key, amount] of need) sum.set(key, (sum.get(key) ?? 0n) + amount);
  reserved.set(quota.metadata.uid, sum);
}
