import { newScript, Option, runScript, wholeNumber } from '../../../hack/script.ts';
import { LIMITS, runBurst, type Burst, type BurstFigures } from './burst.ts';

const TEN = 10;

const BURST = newScript(
  'simulate:burst',
  'Prints what ten migrations at once in one namespace cost, in virtual time.',
)
  .option('--runs <n>', 'so many seeds', wholeNumber(1), 5)
  .option('--seed <n>', 'the first of them', wholeNumber(0), 1)
  .option('--given <n>', 'give for so many at once (default: for ten, and for one)', wholeNumber(1))
  .addOption(
    new Option('--limits <limits>', "KubeVirt's parallel migrations")
      .choices(Object.keys(LIMITS))
      .default('raised'),
  )
  .option('--detail', 'also the requests and the locks')
  .option('--trace', 'only the first, line by line');

interface Flags {
  readonly runs: number;
  readonly seed: number;
  readonly given?: number;
  readonly limits: keyof typeof LIMITS;
  readonly detail?: boolean;
  readonly trace?: boolean;
}

/** Runs ten migrations in one namespace, in virtual time, and prints what they cost. */
async function main(flags: Flags): Promise<void> {
  const of = (given: number | undefined, index: number): Burst => ({
    seed: flags.seed + index,
    migrations: TEN,
    ...{ given, limits: LIMITS[flags.limits] },
  });
  if (flags.trace) {
    const { trace } = await runBurst(of(flags.given ?? TEN, 0));
    print(trace.join('\n'));
    return;
  }
  const all = flags.given === undefined ? [undefined, TEN, 1] : [undefined, flags.given];
  let unblockedMs = 0;
  for (const given of all) {
    const runs: BurstFigures[] = [];
    for (let index = 0; index < flags.runs; index += 1) runs.push(await runBurst(of(given, index)));
    unblockedMs ||= median(runs.map(({ ms }) => ms));
    print(lineOf(given, runs, unblockedMs));
    if (flags.detail) print(detailOf(runs));
  }
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

await runScript(BURST, main);
