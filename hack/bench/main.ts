/** npm run bench: see USAGE. */
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { bundle } from '../build.ts';
import { ensureBinaries } from '../../test/cluster/controlplane/binaries/ensure.ts';
import { reportProgress } from '../../test/cluster/controlplane/binaries/report.ts';
import { runProgram } from '../../test/cluster/run-program.ts';
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
const USAGE =
  `usage: npm run bench -- [--cycles N] [--json FILE] [--profile] [--only ${NAMES.join('|')}]…\n` +
  '       npm run bench -- --against REF [--cycles N] [--json FILE]\n' +
  '       npm run bench -- --scale N[,N…] [--finished N] [--cycles N] [--json FILE]\n' +
  '       npm run bench -- --preflight VMS [--cycles N] [--json FILE]\n' +
  '       npm run bench -- --moves [--cycles N] [--json FILE]';

type Arguments = ReturnType<typeof readArguments>;

async function main(): Promise<void> {
  const wanted = readArguments();
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
  { only, against, sizes, finished, vms, moves }: Arguments,
  options: MeasureOptions,
): Promise<Measurements[]> {
  if (against !== undefined) return [await compare(against, options)];
  if (moves) return [await measureMoves(options)];
  if (vms !== undefined) return [await measurePreflight(vms, options)];
  if (sizes.length > 0) return [await measureScale(sizes, finished, options)];
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

function readArguments() {
  const { values } = parseArgs({
    options: {
      cycles: { type: 'string', default: '20' },
      json: { type: 'string' },
      only: { type: 'string', multiple: true, default: NAMES },
      profile: { type: 'boolean', default: false },
      against: { type: 'string' },
      scale: { type: 'string' },
      finished: { type: 'string' },
      preflight: { type: 'string' },
      moves: { type: 'boolean', default: false },
    },
  });
  const unknown = values.only.find((part) => !NAMES.some((known) => known === part));
  if (unknown !== undefined) throw new TypeError(`unknown part ${unknown}`);
  const cycles = positiveInteger('--cycles', values.cycles);
  const sizes = values.scale?.split(',').map((size) => positiveInteger('--scale', size)) ?? [];
  const finished = values.finished === undefined ? 0 : positiveInteger('--finished', values.finished);
  const vms = values.preflight === undefined ? undefined : positiveInteger('--preflight', values.preflight);
  return { ...values, cycles, sizes, finished, vms };
}

/** Parses a positive integer; throws TypeError for any other text. */
function positiveInteger(option: string, text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new TypeError(`${option} must be a number, not ${text}`);
  return count;
}

await runProgram(main, USAGE);
