import { MAX_LOCK_SECONDS } from '../../../functions/runtime/limits.ts';
import { REPAIR_MS } from '../../../functions/domain/verdict/attempt.ts';
import {
  isFinal,
  referenceOf,
  targetPodOf,
  blockedMigrationOf,
} from '../../../functions/domain/migration.ts';
import { CONDITION } from '../../../functions/domain/names.ts';
import type { Migration, Pod, Vmmrq } from '../../../functions/domain/objects.ts';
import { MIGRATIONS, PODS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import type { World } from './world.ts';
import { rawText } from '../../support/raw-text.ts';

/** A client gives up a request that hung at the end of the faults within this time. A repair may be waiting for it. */
const HANGING_MS = 5_000;

/** One line for each thing that is not quiescent; empty: no namespace is locked, and all quotas have their originals. */
export const pendingWork = ({ checker, quotas }: World): string[] =>
  checker.namespaces.flatMap(({ namespace, ledgers, locks: { lock } }) => [
    ...(lock === undefined ? [] : [`namespace ${namespace} is locked by ${lock.token}`]),
    ...[...ledgers.values()].flatMap((ledger) => ledger.leftovers(!quotas.isGone)),
  ]);

/** The time by which a current lock must be gone (I3); milliseconds. */
export function latestEnd({ checker, guards, time, scenario }: World, calmSince: number): number {
  const guarded = Math.max(...guards.map(({ since }) => since ?? time.now));
  const since = checker.namespaces.map(({ locks }) => locks.since ?? calmSince);
  const seen = Math.max(...since, calmSince, guarded);
  return seen + Math.min(scenario.lockSeconds, MAX_LOCK_SECONDS) * 1_000 + REPAIR_MS + HANGING_MS;
}

/** Migrations that have no target pod and that some VMMRQ does not report as blocked; one line each. */
export const unreported = (world: World): string[] =>
  world.namespaces.flatMap((namespace) => unreportedIn(world, namespace));

function unreportedIn({ store }: World, namespace: string): string[] {
  const pods = store.list<Pod>(PODS.kind, namespace);
  const vmmrqs = store.list<Vmmrq>(VMMRQS.kind, namespace);
  const open = store.list<Migration>(MIGRATIONS.kind, namespace).filter((each) => !isFinal(each));
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

/** A migration does not wait for other locks for ever: there are none when the world is idle. */
const saysBlocked = ({ status }: Vmmrq, name: string): boolean =>
  (status?.conditions ?? [])
    .filter(({ type, status: is }) => type === CONDITION.blocking && is === 'True')
    .flatMap(({ message }) => rawText(message).split('\n'))
    .some((line) => line.startsWith(`${name}: `) && !line.includes('other locks have what'));
