/** npm run bench: measures on this machine, and prints a table of figures. */
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { bundle } from '../build.ts';
import { newScript, Option, runScript, wholeNumber } from '../script.ts';
import { ensureBinaries } from '../../test/cluster/controlplane/binaries/ensure.ts';
import { reportProgress } from '../../test/cluster/controlplane/binaries/report.ts';
import { compare } from './compare.ts';
import { startEnvironment } from './environment.ts';
import { summaryOf, type Measurements, type MeasureOptions } from './figures.ts';
import { measureBursts } from './measure-bursts.ts';
import { measureColdStarts } from './measure-cold-starts.ts';
import { measureCycles } from './measure-cycles.ts';
import { measureGuard } from './measure-guard.ts';
import { measureLostRefusals } from './measure-lost-refusals.ts';
import { measureMoves } from './measure-moves.ts';
import { measurePreflight } from './measure-preflight.ts';
import { measureScale } from './measure-scale.ts';
import { tableOf } from './table.ts';

/** The parts run one after the other in one installation, so that their figures are comparable. */
const PARTS = {
  cycles: measureCycles,
  'cold-starts': measureColdStarts,
  guard: measureGuard,
  'lost-refusals': measureLostRefusals,
  bursts: measureBursts,
} as const;

const NAMES = Object.keys(PARTS) as (keyof typeof PARTS)[];
const positive = wholeNumber(1);

const BENCH = newScript('bench', 'Measures on this machine, which must be idle.')
  .option('--cycles <n>', 'samples of each figure', positive, 20)
  .option('--json <file>', 'write the conditions and every sample to it')
  .option('--profile', 'also print where the time goes')
  .addOption(new Option('--only <part...>', 'only these parts').choices(NAMES).default(NAMES, 'all'))
  .addOption(
    new Option('--against <ref>', 'instead: this tree and another commit, in pairs').conflicts([
      ...['only', 'scale', 'preflight', 'moves'],
    ]),
  )
  .addOption(
    new Option('--scale <n,...>', 'instead: so many namespaces')
      .argParser((text) => text.split(',').map(positive))
      .conflicts(['only', 'preflight', 'moves']),
  )
  .option('--finished <n>', 'finished migrations in each of them', positive, 0)
  .addOption(
    new Option('--preflight <vms>', "instead: the plugin's preflight of so many VMs")
      .argParser(positive)
      .conflicts(['only', 'moves']),
  )
  .addOption(new Option('--moves', 'instead: moves between three clusters').conflicts('only'));

interface Flags {
  readonly cycles: number;
  readonly json?: string;
  readonly profile?: boolean;
  readonly only: readonly string[];
  readonly against?: string;
  readonly scale?: readonly number[];
  readonly finished: number;
  readonly preflight?: number;
  readonly moves?: boolean;
}

async function main(wanted: Flags): Promise<void> {
  const { cycles, json, profile } = wanted;
  const { showProgress, end } = reportProgress();
  await ensureBinaries(
    ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kustomize'],
    showProgress,
  ).finally(end);
  await bundle();
  const started = new Date();
  const loadBefore = load();
  const onProgress = (line: string): unknown => process.stderr.write(`· ${line}\n`);
  const measurements = await measure(wanted, { cycles, onProgress });
  const figures = measurements.flatMap((each) => each.figures);
  const details = measurements.flatMap((each) => each.details ?? []);
  const conditions = {
    started: started.toISOString(),
    seconds: Math.round((Date.now() - started.getTime()) / 1_000),
    cycles,
    node: process.version,
    cpus: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
    loadBefore,
    loadAfter: load(),
  };
  process.stdout.write(`${tableOf(figures)}\n`);
  for (const [name, value] of Object.entries(conditions)) process.stdout.write(`${name}: ${String(value)}\n`);
  for (const { heading, lines } of profile ? details : [])
    process.stdout.write(`\n${[heading, ...lines.map((line) => `  ${line}`)].join('\n')}\n`);
  if (json === undefined) return;
  const summed = figures.map((figure) => ({ ...figure, ...summaryOf(figure) }));
  writeFileSync(json, `${JSON.stringify({ conditions, figures: summed, details }, undefined, 2)}\n`);
}

async function measure(
  { only, against, scale, finished, preflight, moves }: Flags,
  options: MeasureOptions,
): Promise<Measurements[]> {
  if (against !== undefined) return [await compare(against, options)];
  if (moves) return [await measureMoves(options)];
  if (preflight !== undefined) return [await measurePreflight(preflight, options)];
  if (scale !== undefined) return [await measureScale(scale, finished, options)];
  const environment = await startEnvironment(options);
  try {
    const measurements: Measurements[] = [];
    for (const name of NAMES.filter((each) => only.includes(each)))
      measurements.push(await PARTS[name](environment, options));
    return measurements;
  } finally {
    await environment.stop();
  }
}

/** The machine's load over the last minute. */
const load = (): string => (loadavg()[0] ?? NaN).toFixed(1);

await runScript(BENCH, main);
