import { PODS, RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { FULL_MIGRATIONS } from '../cluster/kubevirt/objects/objects.ts';
import { migrate } from '../support/kubevirt/harness.ts';
import type { History } from '../support/tenant/history.ts';
import type { Tenant } from '../support/tenant/tenant.ts';

/** One migration that needed a raise. */
export interface Cycle {
  readonly migration: string;
  readonly isThrough: boolean;
  /** From the migration's creation until the namespace was unlocked and its quota full again. */
  readonly ms: number;
  /** How many locks it took. */
  readonly locks: number;
}

export interface Order {
  /** How many cycles to run, one after the other. */
  readonly count: number;
  /** No new cycle starts after this time, but at least one runs, milliseconds. */
  readonly withinMs: number;
  /** Ends the cycles early. */
  readonly signal: AbortSignal;
}

/** Less than the 90 s after which the API server closes an idle connection. */
const WITHIN_MS = 75_000;

/** Migrates the VM repeatedly, each time with a full quota. A migration that fails is no error. */
export async function runCycle(
  admin: Cluster,
  tenant: Tenant,
  { count, withinMs, signal }: Order,
): Promise<Cycle[]> {
  const done: Cycle[] = [];
  const until = performance.now() + withinMs;
  const hasNext = (n: number): boolean => n === 0 || (n < count && performance.now() < until);
  for (let n = 0; hasNext(n) && !signal.aborted; n += 1) {
    const one = await runOne(admin, tenant, { migration: `mig${n}`, signal });
    if (one !== undefined) done.push(one);
  }
  return done;
}

async function runOne(
  admin: Cluster,
  { name: namespace, history }: Tenant,
  { migration, signal }: { readonly migration: string; readonly signal: AbortSignal },
): Promise<Cycle | undefined> {
  const before = { at: performance.now(), locks: history.locks().length };
  await migrate(admin, { namespace, name: migration, vmi: 'vm0' });
  const isThrough = await Promise.race([
    history
      .until(`${migration} is through`, () => isOver(history, migration), WITHIN_MS)
      .then(
        () => true,
        () => false,
      ),
    new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined))),
  ]);
  if (isThrough === undefined) return undefined;
  const ms = performance.now() - before.at;
  await tidyUp(admin, namespace, migration);
  return { migration, isThrough, ms, locks: history.locks().length - before.locks };
}

/** The migration succeeded, the namespace is unlocked and the quota is full again. */
function isOver(history: History, migration: string): boolean {
  const { phase } = history.latest(FULL_MIGRATIONS, migration)?.status ?? {};
  if (phase !== 'Succeeded' || history.isLocked()) return false;
  const { hard, used } = history.latest(RESOURCE_QUOTAS, 'tight')?.status ?? {};
  return used?.['pods'] === hard?.['pods'];
}

/** Does KubeVirt's garbage collection sooner, so that every cycle reads lists as short as the first cycle's. */
async function tidyUp(admin: Cluster, namespace: string, migration: string): Promise<void> {
  const { items } = await admin.list(PODS, { namespace, fieldSelector: 'status.phase=Succeeded' });
  const ended = items.map(({ metadata }) => admin.delete(PODS, { namespace, name: metadata.name }, AT_ONCE));
  await Promise.all(
    [...ended, admin.delete(FULL_MIGRATIONS, { namespace, name: migration })].map(ignoreNotFound),
  );
}

const AT_ONCE = { gracePeriodSeconds: 0 };
