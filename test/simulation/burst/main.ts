import { parseArgs } from 'node:util';
import { LIMITS, runBurst, type Burst, type BurstFigures } from './burst.ts';

const USAGE =
  'node test/simulation/burst/main.ts [--runs N] [--detail] [--trace] [--given N] [--limits raised|default]';
const TEN = 10;

/** Runs ten migrations in one namespace, in virtual time, and prints what they cost. */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '5' },
      given: { type: 'string' },
      limits: { type: 'string', default: 'raised' },
      seed: { type: 'string', default: '1' },
      detail: { type: 'boolean', default: false },
      trace: { type: 'boolean', default: false },
    },
  });
  const limits = LIMITS[values.limits as keyof typeof LIMITS] as Burst['limits'] | undefined;
  if (limits === undefined) throw new Error(USAGE);
  const of = (given: number | undefined, index: number): Burst => ({
    seed: Number(values.seed) + index,
    migrations: TEN,
    ...{ given, limits },
  });
  if (values.trace) {
    const { trace } = await runBurst(of(Number(values.given ?? TEN), 0));
    print(trace.join('\n'));
    return 0;
  }
  const all = values.given === undefined ? [undefined, TEN, 1] : [undefined, Number(values.given)];
  let unblockedMs = 0;
  for (const given of all) {
    const runs: BurstFigures[] = [];
    for (let index = 0; index < Number(values.runs); index += 1) runs.push(await runBurst(of(given, index)));
    unblockedMs ||= median(runs.map(({ ms }) => ms));
    print(lineOf(given, runs, unblockedMs));
    if (values.detail) print(detailOf(runs));
  }
  return 0;
}

const sumOf = (counts: Iterable<number>): number => [...counts].reduce((sum, each) => sum + each, 0);
const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;

function lineOf(given: number | undefined, runs: readonly BurstFigures[], unblockedMs: number): string {
  const ms = runs.map((run) => run.ms);
  const of = (figure: (run: BurstFigures) => number): string => median(runs.map(figure)).toFixed(0);
  const problems = runs.filter(({ isThrough, violation }) => !isThrough || violation !== undefined);
  return [
    given === undefined ? 'unblocked' : `given for ${String(given)}`,
    `${median(ms).toFixed(0)} ms (${Math.min(...ms).toFixed(0)}–${Math.max(...ms).toFixed(0)})`,
    `× ${(median(ms) / unblockedMs).toFixed(2)}`,
    `requests a migration ${(median(runs.map(({ requests }) => sumOf(requests.values()))) / TEN).toFixed(1)}`,
    `locks ${of(({ locks }) => locks.length)}`,
    `locked ${of(({ locks }) => sumOf(locks))} ms, longest ${of(({ locks }) => Math.max(0, ...locks))}`,
    `pods refused ${of(({ refusals }) => refusals)}`,
    `failed locks ${of(({ failures }) => failures)}`,
    ...(problems.length === 0
      ? []
      : [`PROBLEMS ${problems.map(({ violation }) => violation ?? 'not through').join('; ')}`]),
  ].join(' · ');
}

function detailOf(runs: readonly BurstFigures[]): string {
  const table = (mapOf: (run: BurstFigures) => ReadonlyMap<string, number>): string[] => {
    const keys = new Set(runs.flatMap((run) => [...mapOf(run).keys()]));
    return [...keys]
      .toSorted()
      .map((key) => `  ${String(median(runs.map((run) => mapOf(run).get(key) ?? 0))).padStart(5)}  ${key}`);
  };
  const members = runs.map(({ members: each, locks }) =>
    each.map((count, index) => `${String(count)}:${String(locks[index])}`).join(' '),
  );
  return [
    ...table(({ requests }) => requests),
    '',
    ...table((run) => run.runs),
    '',
    ...members.map((each) => `  locks ${each}`),
  ].join('\n');
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

process.exitCode = await main();
