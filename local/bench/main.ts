/** npm run bench: see USAGE. */
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { bundle } from '../build.ts';
import { ensureBinaries } from '../controlplane/binaries/ensure.ts';
import { reportProgress } from '../controlplane/binaries/report.ts';
import { isLeaving } from '../controlplane/exit.ts';
import { bench, PARTS, type Part } from './bench.ts';
import { compare } from './compare.ts';
import { measureScale } from './measure-scale.ts';
import type { Detail, Findings } from './report.ts';
import { summaryOf } from './figures.ts';
import { tableOf } from './table.ts';

const USAGE =
  `usage: npm run bench -- [--releases N] [--json FILE] [--profile] [--only ${PARTS.join('|')}]…\n` +
  '       npm run bench -- --against REF [--releases N] [--json FILE]\n' +
  '       npm run bench -- --scale N[,N…] [--releases N] [--json FILE]';

interface Arguments {
  readonly releases: number;
  readonly json: string | undefined;
  readonly only: readonly Part[];
  /** Tells where the time goes. */
  readonly profile: boolean;
  /** A commit: nothing else is measured but this tree and that one, in pairs. */
  readonly against: string | undefined;
  /** Numbers of namespaces: nothing else is measured but what they cost. */
  readonly sizes: readonly number[];
}

async function main(): Promise<void> {
  const wanted = readArguments();
  const { releases, json, profile, against } = wanted;
  const { hear, end } = reportProgress();
  await ensureBinaries(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kustomize'], hear).finally(end);
  await bundle();
  const started = new Date();
  const loadBefore = load();
  const onProgress = (line: string): unknown => process.stderr.write(`· ${line}\n`);
  const findings = await measure(wanted, onProgress);
  const figures = findings.flatMap((each) => each.figures);
  const conditions = {
    started: started.toISOString(),
    seconds: Math.round((Date.now() - started.getTime()) / 1_000),
    releases,
    node: process.version,
    cpus: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
    loadBefore,
    loadAfter: load(),
  };
  process.stdout.write(`${tableOf(figures)}\n`);
  for (const [name, value] of Object.entries(conditions)) process.stdout.write(`${name}: ${String(value)}\n`);
  const details = findings.flatMap((each) => each.details ?? []);
  if (profile || against !== undefined)
    for (const detail of details) process.stdout.write(`\n${textOf(detail)}`);
  if (json === undefined) return;
  const summed = figures.map((figure) => ({ ...figure, ...summaryOf(figure) }));
  writeFileSync(json, `${JSON.stringify({ conditions, figures: summed, details }, undefined, 2)}\n`);
}

function measure(
  { releases, only, against, sizes }: Arguments,
  onProgress: (line: string) => void,
): Promise<Findings[]> {
  if (against !== undefined) return compare({ ref: against, releases, onProgress }).then((found) => [found]);
  if (sizes.length > 0) return measureScale({ sizes, releases, onProgress }).then((found) => [found]);
  return bench({ releases, only, onProgress });
}

const textOf = ({ heading, lines }: Detail): string =>
  `${heading}\n${lines.map((line) => `  ${line}\n`).join('')}`;

/** Of the last minute, ours included. */
const load = (): string => (loadavg()[0] ?? NaN).toFixed(1);

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      releases: { type: 'string', default: '20' },
      json: { type: 'string' },
      only: { type: 'string', multiple: true },
      profile: { type: 'boolean', default: false },
      against: { type: 'string' },
      scale: { type: 'string', default: '' },
    },
  });
  const releases = atLeastOne('--releases', values.releases);
  const unknown = values.only?.find((part) => !PARTS.some((known) => known === part));
  if (unknown !== undefined) throw new TypeError(`there is no part ${unknown}`);
  const only = (values.only as Part[] | undefined) ?? PARTS;
  const { json, profile, against, scale } = values;
  const sizes = scale === '' ? [] : scale.split(',').map((size) => atLeastOne('--scale', size));
  return { releases, only, json, profile, against, sizes };
}

/** Throws TypeError. */
function atLeastOne(option: string, text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new TypeError(`${option} is a number, not ${text}`);
  return count;
}

try {
  await main();
} catch (error) {
  // Told to end by a signal: what breaks then is no failure.
  if (!isLeaving()) {
    const hint = error instanceof TypeError ? `\n${USAGE}` : '';
    process.stderr.write(`\n${describeError(error)}${hint}\n`);
    process.exitCode = 1;
  }
}
