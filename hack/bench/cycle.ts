import { lockOf } from '../../functions/domain/lock.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';
import type { What } from '../demo/timeline-events/timeline-event.ts';
import { timelineEventsOf } from '../demo/timeline-events/of-change.ts';
import type { Tenant } from '../demo/scenarios.ts';
import type { Run } from '../demo/traces.ts';
import { now, type Change } from '../demo/watching.ts';
import { FULL_MIGRATIONS, newMigration } from '../../test/cluster/kubevirt/objects/objects.ts';
import type { Vmim } from '../../test/cluster/kubevirt/objects/types.ts';
import { blockedTenant, until, untilQuiet, type Environment } from './environment.ts';
import { cpuMs, ownPids } from './processes.ts';
import { isFor, type ApiRequest } from './requests.ts';

/** A migration, from its creation until no component has work left for it. */
export interface Cycle {
  readonly timestamps: Timestamps;
  readonly requests: readonly ApiRequest[];
  /** Runs of functions for an event. */
  readonly runs: readonly Run[];
  /** How long each function took that started meanwhile, milliseconds from its process to its readiness. */
  readonly startsMs: readonly number[];
  /** CPU time of the functions and the guard, in milliseconds; all CPU time of functions that started meanwhile counts. */
  readonly cpuMs: number;
}

/** Times at which our watches received each change, milliseconds since 1970; undefined: it did not happen. */
export interface Timestamps {
  /** KubeVirt reports that a quota refuses the target pod. */
  readonly blocked: number | undefined;
  readonly locked: number | undefined;
  /** status.hard changed for the first time: KubeVirt's next attempt succeeds. */
  readonly enforced: number | undefined;
  /** The target pod exists. */
  readonly admitted: number | undefined;
  /** status.hard changed for the last time: it is the original again. */
  readonly lowered: number | undefined;
  readonly unlocked: number | undefined;
  readonly succeeded: number | undefined;
}

/** Migrates the VM of a tenant with one VM. The cluster must be idle otherwise. */
export async function runCycle(environment: Environment, namespace: string): Promise<Cycle> {
  const { watching, requestLog, traces } = environment;
  requestLog.read();
  const before = cpuMs(ownPids(environment.cluster));
  const from = {
    ...{ change: watching.changes.length, request: requestLog.requests.length },
    ...{ start: traces.starts.length, time: now() },
  };
  return migrateAll(environment, [blockedTenant(namespace)], () => {
    const timestamps = timestampsOf(watching.changes.slice(from.change), namespace);
    return {
      timestamps,
      requests: requestLog.requests.slice(from.request).filter(isFor(namespace)),
      runs: traces.runs.filter(({ at, eventType }) => at >= from.time - 1 && eventType !== undefined),
      startsMs: traces.starts.slice(from.start).map(({ ms }) => ms),
      cpuMs: cpuMs(ownPids(environment.cluster)) - before,
    };
  });
}

/** Milliseconds from the first migration to the success of the last one, and to the end of the last lock. */
export interface Burst {
  readonly succeededMs: number;
  readonly unlockedMs: number;
}

/**
 * Migrates every VM of the tenants at once, waits until the cluster is quiet, returns the result, and deletes the migrations.
 */
export async function migrateAll<T>(
  environment: Environment,
  tenants: readonly Tenant[],
  resultOf: (burst: Burst) => T,
): Promise<T> {
  const { admin, watching } = environment;
  const all = tenants.flatMap(({ namespace, vms }) => vms.map(({ name }) => ({ namespace, name })));
  const find = ({ namespace, name }: (typeof all)[number]): Vmim | undefined =>
    watching.find('VirtualMachineInstanceMigration', name, namespace);
  const isUnlocked = ({ namespace }: Tenant): boolean => {
    const object = watching.find('Namespace', namespace);
    return object !== undefined && lockOf(object).kind === 'none';
  };
  const isOneLauncherEach = ({ namespace, quotas, vms }: Tenant): boolean =>
    quotas.every(
      ({ name }) =>
        watching.find('ResourceQuota', name, namespace)?.status?.used?.['pods'] === `${vms.length}`,
    );
  const began = now();
  await Promise.all(all.map((one) => admin.create(FULL_MIGRATIONS, newMigration({ ...one, vmi: one.name }))));
  await until(environment, 'every migration has succeeded', () =>
    all.every((one) => find(one)?.status?.phase === 'Succeeded'),
  );
  const succeededMs = now() - began;
  await until(environment, 'every namespace is unlocked', () => tenants.every(isUnlocked));
  const unlockedMs = now() - began;
  await until(environment, 'the source pods are gone', () => tenants.every(isOneLauncherEach));
  await untilQuiet(environment);
  const result = resultOf({ succeededMs, unlockedMs });
  await Promise.all(all.map((one) => admin.delete(FULL_MIGRATIONS, one)));
  await until(environment, 'the migrations are gone', () => all.every((one) => find(one) === undefined));
  await untilQuiet(environment);
  return result;
}

/** Returns the times of the changes since the migration was created. */
export function timestampsOf(changes: readonly Change[], namespace: string): Timestamps {
  const events = changes.flatMap(timelineEventsOf).filter((each) => each.namespace === namespace);
  const first = (wanted: What): number | undefined => events.find(({ what }) => what === wanted)?.at;
  const enforcing = changes.filter((change) => changesStatusHard(change, namespace));
  return {
    blocked: first('blocked'),
    locked: first('locked'),
    enforced: enforcing[0]?.at,
    admitted: first('admitted'),
    lowered: enforcing.at(-1)?.at,
    unlocked: first('unlocked'),
    succeeded: first('succeeded'),
  };
}

function changesStatusHard({ kind, before, after }: Change, namespace: string): boolean {
  if (kind !== 'ResourceQuota' || after?.metadata.namespace !== namespace) return false;
  return before !== undefined && statusHardOf(before) !== statusHardOf(after);
}

const statusHardOf = ({ status }: ResourceQuota): string =>
  JSON.stringify(Object.entries(status?.hard ?? {}).toSorted());

/** Milliseconds between two changes; NaN if one of them did not happen. */
const spanOf = ({ timestamps }: Cycle, from: keyof Timestamps, to: keyof Timestamps): number =>
  (timestamps[to] ?? NaN) - (timestamps[from] ?? NaN);

export const blockedToPod = (cycle: Cycle): number => spanOf(cycle, 'blocked', 'admitted');
export const blockedToLocked = (cycle: Cycle): number => spanOf(cycle, 'blocked', 'locked');
export const blockedToUnlocked = (cycle: Cycle): number => spanOf(cycle, 'blocked', 'unlocked');
export const lockWindow = (cycle: Cycle): number => spanOf(cycle, 'locked', 'unlocked');
export const timeRaised = (cycle: Cycle): number => spanOf(cycle, 'enforced', 'lowered');

/** Number of all requests of the migration, its Events and the requests after the unlock included. */
export const requestCount = ({ requests }: Cycle): number => requests.length;

/** Requests that write a Kubernetes Event. */
export const eventCount = ({ requests }: Cycle): number => requests.filter(({ isEvent }) => isEvent).length;
