import type { Checker } from '../checker/checker.ts';
import type { InjectedFault } from './faults.ts';
import { latestEnd, unreported, pendingWork } from './quiescence.ts';
import { scenarioOf, type Scenario } from './scenario.ts';
import { World, type WorldOptions } from './world.ts';

export interface RunResult {
  readonly seed: number;
  /** The violated invariant, and how; undefined: none. */
  readonly violation: string | undefined;
  readonly happened: readonly InjectedFault[];
  readonly hits: ReadonlyMap<string, number>;
  readonly chances: World['faults']['chances'];
  readonly trace: readonly string[];
  readonly steps: number;
  readonly cycles: number;
  readonly failures: number;
  readonly podsOutsideLock: number;
  /** From the end of the faults to the quiescent state, milliseconds of virtual time. */
  readonly quiescentMs: number;
}

/** How long a run waits for blocked migrations: longer than any rest between attempts. KubeVirt's own back-off may be longer still. */
const TIMEOUT_MS = 16 * 60_000;
/** A run with more steps than this never ends. */
const MAX_STEPS = 30_000;

/** One run, to its first violation or to the quiescent state. */
export async function run(scenario: Scenario, options: WorldOptions = {}): Promise<RunResult> {
  const world = new World(scenario, options);
  world.start();
  await disturbed(world);
  const calmSince = world.time.now;
  const violation = world.checker.violation ?? (await calm(world, calmSince)) ?? world.checker.violation;
  if (violation !== undefined) world.trace.log('checker', () => violation);
  for (const guard of world.guards) guard.stop();
  const { faults, checker, trace, schedule, time } = world;
  return {
    seed: scenario.seed,
    violation,
    happened: faults.happened,
    hits: faults.hits,
    chances: faults.chances,
    trace: trace.lines,
    steps: schedule.steps,
    cycles: sumOf(checker.namespaces, ({ locks }) => locks.counts.cycles),
    failures: sumOf(checker.namespaces, ({ locks }) => locks.counts.failures),
    podsOutsideLock: sumOf(checker.namespaces, ({ admissions }) => admissions.podsOutsideLock),
    quiescentMs: time.now - calmSince,
  };
}

const sumOf = (checkers: readonly Checker[], countOf: (checker: Checker) => number): number =>
  checkers.reduce((sum, checker) => sum + countOf(checker), 0);

export const runSeed = (seed: number, options: WorldOptions = {}): Promise<RunResult> =>
  run(scenarioOf(seed), options);

/** Runs until the faults end, or an invariant is violated. */
async function disturbed(world: World): Promise<void> {
  const { schedule, checker, scenario, time } = world;
  // When its migrations are cancelled, a run never gets quiet, and time may pass without a turn.
  const latest = time.now + TIMEOUT_MS;
  while (schedule.steps < scenario.steps && checker.violation === undefined) {
    if (scenario.isOrderly && (isQuiet(world) || time.now > latest)) return;
    const hasStepped = (await schedule.step()) || (await schedule.skip());
    if (!hasStepped) return;
    world.endWatches();
    world.notePresence();
    await world.disturb();
  }
}

/** Without faults the run must become quiescent. Returns the violation if it does not. */
async function calm(world: World, since: number): Promise<string | undefined> {
  const { schedule, checker } = world;
  world.calm();
  while (checker.violation === undefined) {
    const end = endOf(world, since);
    if (end !== undefined) return end.violation;
    if (!(await schedule.step())) await schedule.skip();
    world.endWatches();
    world.notePresence();
  }
  return undefined;
}

/** undefined: the run is not over yet. */
function endOf(world: World, since: number): { readonly violation: string | undefined } | undefined {
  const { schedule, time, scenario } = world;
  const isLate = time.now > latestEnd(world, since);
  if (schedule.steps > scenario.steps + MAX_STEPS) return { violation: 'I3: it goes on and on' };
  if (schedule.isBusy && !isLate) return undefined;
  const left = pendingWork(world);
  if (left.length > 0) return isLate ? { violation: `I3: ${left.join('; ')}` } : undefined;
  if (!schedule.isBusy && (world.mayStayBlocked || isStable(world))) return { violation: undefined };
  const isInTime = time.now <= since + TIMEOUT_MS;
  return isInTime ? undefined : { violation: `I3: ${unreported(world).join('; ')}` };
}

/** No actor is ready and all work is done; only timers may be left. */
const isQuiet = (world: World): boolean =>
  world.isStarted && !world.schedule.isBusy && pendingWork(world).length === 0 && isStable(world);

const isStable = (world: World): boolean => world.broker.underWay === 0 && unreported(world).length === 0;
