import { expect } from '@jest/globals';
import { isEnforced } from './enforced.ts';
import { askUntil } from '../eventually.ts';
import { ANNOTATION, LABEL } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { REPAIR_MS } from '../../../functions/domain/verdict/attempt.ts';
import { invariantViolations } from './invariants.ts';
import { readBack, type Tenant } from '../tenant/tenant.ts';

/** Keys of an unfinished cycle. (last-release and last-attempt stay.) */
const BOOKKEEPING: readonly string[] = [
  ANNOTATION.lock,
  ANNOTATION.token,
  ANNOTATION.grant,
  ANNOTATION.migrations,
  LABEL.locked,
  LABEL.raised,
];

/** Those keys that this object still has. */
export const bookkeepingOn = ({ metadata: { annotations = {}, labels = {} } }: KubernetesObject): string[] =>
  BOOKKEEPING.filter((mark) => annotations[mark] !== undefined || labels[mark] !== undefined);

/**
 * Reads the namespace until nothing is locked or raised and each quota is enforced as in its spec: a blocked migration
 * gets another attempt after its back-off. The history must violate no invariant, so the quotas have their originals.
 */
export async function expectQuiescent(admin: Cluster, tenant: Tenant): Promise<void> {
  await askUntil(
    `${tenant.name} is quiescent`,
    async () => {
      const { namespace, quotas } = await readBack(admin, tenant);
      const objects = [...(namespace === undefined ? [] : [namespace]), ...quotas];
      return [...objects.flatMap(bookkeepingOn), ...quotas.filter((quota) => !isEnforced(quota))];
    },
    (left) => left.length === 0,
  );
  expect(invariantViolations(tenant.history)).toEqual([]);
}

/** Resolves when the last lock is removed, and its migration has succeeded or the attempt is recorded as failed. */
export async function untilOver(tenant: Tenant, vm = 0): Promise<void> {
  const isDecided = (): boolean => tenant.isThrough(vm) || attemptOf(tenant) !== undefined;
  await tenant.history.until(`${tenant.name} is unlocked, and through or given up`, (history) =>
    [!history.isLocked(), isDecided(), history.lockedPeriods().length > 0].every(Boolean),
  );
}

/** The namespace's record of the last attempt, if it failed. */
export const attemptOf = ({ history }: Tenant): string | undefined =>
  history.latest(NAMESPACES)?.metadata.annotations?.[ANNOTATION.lastAttempt];

/** I3: each lock ended within its lifetime and 15 s. Resolves to the longest, in seconds. */
export function expectInTime({ history }: Tenant, lockSeconds: number): number {
  const now = Date.now();
  const ms = history.lockedPeriods().map(({ from, until = now }) => until - from);
  const longest = Math.max(0, ...ms);
  expect(longest).toBeLessThan(lockSeconds * 1_000 + REPAIR_MS);
  return longest / 1_000;
}
