import { liveLock, lockOf } from '../../../functions/domain/lock.ts';
import { isFinal } from '../../../functions/domain/migration.ts';
import type { Migration, Vmmrq } from '../../../functions/domain/objects.ts';
import { MIGRATIONS, NAMESPACES, VMIS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import type { Vmi } from '../../cluster/kubevirt/objects/types.ts';
import { START } from '../engine/time.ts';
import { TENANT } from '../world/objects.ts';
import type { Scenario } from '../world/scenario.ts';
import { World } from '../world/world.ts';

/** Many migrations at once in one namespace, in virtual time: what each costs, and for how long they lock it. */
export interface Burst {
  readonly seed: number;
  readonly migrations: number;
  /** For how many target pods the VMMRQ gives; undefined: the quota has headroom for all. */
  readonly given: number | undefined;
  /** KubeVirt's limits on parallel migrations. */
  readonly limits: NonNullable<Scenario['limits']>;
}

/** What a burst took. */
export interface BurstFigures {
  /** From the first migration to the end of the last one, milliseconds. */
  readonly ms: number;
  /** Whether all migrations succeeded. */
  readonly isThrough: boolean;
  /** The requests of functions and guard, by what sends them: "lock GET Namespace". */
  readonly requests: ReadonlyMap<string, number>;
  /** How often each function ran, by its event and its answer. */
  readonly runs: ReadonlyMap<string, number>;
  /** How often a target pod was refused, by the lock or by a quota. */
  readonly refusals: number;
  /** How long each lock lasted, milliseconds. */
  readonly locks: readonly number[];
  /** Number of migrations that each lock named in the end. */
  readonly members: readonly number[];
  /** Locks of which some migration got no pod. */
  readonly failures: number;
  /** The violated invariant. */
  readonly violation: string | undefined;
  readonly trace: readonly string[];
}

/** KubeVirt's limits where a burst does not reach them, and its own. */
export const LIMITS = { raised: { cluster: 20, node: 20 }, default: { cluster: 5, node: 2 } } as const;

/** As measured on two cores: a request takes about 7 ms, a change reaches a function in 15, and a migration takes a second. */
const scenarioOf = ({ seed, migrations, given, limits }: Burst): Scenario => ({
  ...{ seed, limits },
  ...{ steps: Infinity, isOrderly: false, servers: 1, areListed: true, broken: undefined },
  ...{ settleMs: 0, lockSeconds: 30, lagMs: 2, guards: 2, vms: migrations, migrations: 0 },
  quotas: {
    quota: {
      'requests.cpu': `${String((given === undefined ? 3 : 1) * migrations * 1_000 + 200)}m`,
      'requests.memory': `${String((given === undefined ? 3 : 1) * migrations + 100)}Gi`,
      pods: '100',
    },
  },
  gives: [
    {
      additionalMigrationResources: { 'requests.cpu': `${String((given ?? 1) * 1_000)}m` },
      raisePolicy: 'Exact',
    },
  ],
  ...{ givesEverywhere: undefined, hasNeighbour: false, evacuations: 0, isDrained: false, otherOrigins: 0 },
  ...{ targetRequests: undefined, writesEvents: true, tenants: 0, quotaMs: 40, areTried: true },
  ...{ refusesRaises: false, knativeGoneAt: undefined, rates: {}, focus: undefined, isBlockedAtStart: false },
  pacing: { suspendRate: 1, longDelayRate: 1, maxDelayMs: 5, turnMs: [0, 1] },
  durations: { hopMs: 15, watchMs: 1, migrationMs: 1_000 },
});

/** Until the guards have listed everything. */
const SETTLED_MS = 3_000;
const TIMEOUT_MS = 120_000;

/** Runs one burst without faults. */
export async function runBurst(burst: Burst): Promise<BurstFigures> {
  const world = new World(scenarioOf(burst), { plan: [], trace: true });
  // An API server counts generations; the objects of the beginning have none.
  for (const vmmrq of world.store.list<Vmmrq>(VMMRQS.kind, TENANT))
    world.write('admin', { ...vmmrq, metadata: { ...vmmrq.metadata, generation: 1 } });
  world.start();
  await runUntil(world, () => world.time.now >= START + SETTLED_MS);
  const began = world.time.now;
  const locks = new Locked(world);
  const before = world.trace.lines.length;
  for (const { metadata } of world.store.list<Vmi>(VMIS.kind, TENANT))
    world.attempt(world.admin.create(MIGRATIONS, world.newMigration(metadata.name, TENANT)));
  const all = (): readonly Migration[] => world.store.list<Migration>(MIGRATIONS.kind, TENANT);
  const isOver = (): boolean => all().length === burst.migrations && all().every(isFinal);
  await runUntil(world, () => isOver() || world.time.now > began + TIMEOUT_MS);
  const ms = world.time.now - began;
  // What the last end triggers belongs to the burst too.
  const end = world.time.now + SETTLED_MS;
  await runUntil(world, () => world.time.now >= end);
  for (const guard of world.guards) guard.stop();
  const trace = world.trace.lines.slice(before);
  const { violation, tenant } = world.checker;
  return {
    ms,
    isThrough: isOver() && all().every(({ status }) => status?.phase === 'Succeeded'),
    requests: counted(trace, REQUEST),
    runs: runsIn(trace),
    refusals: trace.filter((line) => REFUSAL.test(line)).length,
    locks: locks.lasted,
    members: locks.members,
    failures: tenant.locks.counts.failures,
    violation,
    trace,
  };
}

async function runUntil(world: World, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    if (!(await world.schedule.step()) && !(await world.schedule.skip())) return;
    world.endWatches();
    world.notePresence();
  }
}

/** The locks of the tenant's namespace, as they end. */
class Locked {
  readonly lasted: number[] = [];
  readonly members: number[] = [];
  #since: number | undefined;

  constructor({ store, time }: World) {
    store.onChange(({ kind, object, before }) => {
      if (kind !== NAMESPACES.kind || object.metadata.name !== TENANT) return;
      const isLocked = lockOf(object).kind !== 'none';
      if (isLocked) this.#since ??= time.now;
      if (isLocked || this.#since === undefined) return;
      this.lasted.push(time.now - this.#since);
      const last = before === undefined ? undefined : liveLock(before, 0);
      this.members.push(last?.migrations.length ?? 0);
      this.#since = undefined;
    });
  }
}

/** A line of the trace: time, actor, and a request with its answer. */
const REQUEST =
  /^ *[\d.]+ {2}(feasibility|lock|raise|lower|unlock|guard)[-\d.]+(?: (review))? +(GET|LIST|POST|PUT|PATCH|DELETE) (\w+) .*(?:ok|\d{3} \w+)$/;
const REFUSAL = /^ *[\d.]+ {2}kubevirt +POST Pod .* 403 /;

function counted(trace: readonly string[], pattern: RegExp): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of trace) {
    const [, ...parts] = pattern.exec(line) ?? [];
    if (parts.length === 0) continue;
    const key = parts.filter((part) => (part as string | undefined) !== undefined).join(' ');
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

const TRIGGERED = /^ *[\d.]+ {2}(?<actor>(?<step>\w+)-\d+) +is triggered by (?<event>\S+)/;
const ANSWERED = /^ *[\d.]+ {2}(?<actor>\w+-\d+) +answers (?<answer>\S+)/;
const shortType = (type = ''): string => type.split('.').slice(-2).join('.');

function runsIn(trace: readonly string[]): Map<string, number> {
  const open = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const line of trace) {
    const begun = TRIGGERED.exec(line)?.groups;
    if (begun !== undefined)
      open.set(begun['actor'] ?? '', `${begun['step']} by ${shortType(begun['event'])}`);
    const ended = ANSWERED.exec(line)?.groups;
    if (ended === undefined) continue;
    const key = `${open.get(ended['actor'] ?? '')} → ${shortType(ended['answer'])}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
