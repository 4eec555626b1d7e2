import { MAX_LOCK_SECONDS } from '../../functions/runtime/limits.ts';
import { REPAIR_MS } from '../../functions/domain/verdict/attempt.ts';
import { isFinal, referenceOf, targetPodOf, blockedMigrationOf } from '../../functions/domain/migration.ts';
import { CONDITION } from '../../functions/domain/names.ts';
import type { Migration, Pod, Vmmrq } from '../../functions/domain/objects.ts';
import { MIGRATIONS, PODS, VMMRQS } from '../../functions/kubernetes/resources.ts';
import { TENANT } from './objects.ts';
import { LOCK_SECONDS, type World } from './world.ts';

/** A client gives up a request that hung at the end of the faults within this time. A repair may be waiting for it. */
const HANGING_MS = 5_000;

/** One line for each thing that is not quiescent; empty: the namespace is unlocked, and all quotas have their originals. */
export function pendingWork({ checker }: World): string[] {
  const quotas = [...checker.ledgers.values()].flatMap((ledger) => ledger.leftovers());
  return checker.locks.lock === undefined
    ? quotas
    : [`the namespace is locked by ${checker.locks.lock.token}`, ...quotas];
}

/** The time by which a current lock must be gone (I3); milliseconds. */
export function latestEnd({ checker, guards, time }: World, calmSince: number): number {
  const guarded = Math.max(...guards.map(({ since }) => since ?? time.now));
  const seen = Math.max(checker.locks.since ?? calmSince, calmSince, guarded);
  return seen + Math.min(LOCK_SECONDS, MAX_LOCK_SECONDS) * 1_000 + REPAIR_MS + HANGING_MS;
}

/** Migrations that have no target pod and that some VMMRQ does not report as blocked; one line each. */
export function unreported({ store }: World): string[] {
  const pods = store.list<Pod>(PODS.kind, TENANT);
  const vmmrqs = store.list<Vmmrq>(VMMRQS.kind, TENANT);
  const open = store.list<Migration>(MIGRATIONS.kind, TENANT).filter((migration) => !isFinal(migration));
  return open
    .filter((migration) => {
      if (targetPodOf(referenceOf(migration), pods) !== undefined) return true;
      if (blockedMigrationOf(migration, pods) === undefined) return true;
      return !vmmrqs.every((vmmrq) => saysBlocked(vmmrq, migration.metadata.name));
    })
    .map(
      ({ metadata, status }) =>
        `migration ${metadata.name} is ${status?.phase ?? 'new'}, and not every VMMRQ reports why`,
    );
}

const saysBlocked = ({ status }: Vmmrq, name: string): boolean =>
  (status?.conditions ?? []).some(
    ({ type, status: is, message }) =>
      type === CONDITION.blocking && is === 'True' && message?.includes(`${name}:`) === true,
  );
