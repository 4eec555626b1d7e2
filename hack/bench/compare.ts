import { execFile } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder, type TemporaryFolder } from '../../test/cluster/controlplane/exit.ts';
import { blockedToPod, eventCount, lockWindow, runCycle, timeRaised, type Cycle } from './cycle.ts';
import {
  blockedTenant,
  addHeadroom,
  setUpTenants,
  startEnvironment,
  toZero,
  type Environment,
} from './environment.ts';
import { ratios, type Figure, type Measurements, type MeasureOptions, type Unit } from './figures.ts';
import { coldStart, functionProgram, type Program } from './measure-cold-starts.ts';
import { WARM_UP } from './measure-cycles.ts';

const HERE = fileURLToPath(new URL('../..', import.meta.url));
const TENANT = { blocked: 'bench-release', ample: 'bench-roomy' };

/** An installation of one of the two commits. */
interface Side {
  readonly environment: Environment;
  readonly program: Program;
  readonly rounds: Round[];
}

/** The measurements of one side in one round. */
interface Round {
  readonly warm: Cycle;
  readonly ample: Cycle;
  readonly cold: Cycle;
  readonly startMs: number;
}

/**
 * Compares this tree with the commit `ref`. The two alternate, and so does the first one, so that a slow minute of the machine affects
 * both. Each figure has both values and the ratio of each pair. Both use this tree's stand-ins.
 */
export async function compare(ref: string, { cycles, onProgress }: MeasureOptions): Promise<Measurements> {
  onProgress(`building ${ref}`);
  const checkout = await checkOut(ref);
  const sides: Side[] = [];
  try {
    for (const options of [{}, { tree: checkout.path }]) {
      const environment = await startEnvironment({ ...options, onProgress });
      sides.push({ environment, program: await functionProgram(environment, options.tree), rounds: [] });
      await setUpTenants(
        environment,
        Object.values(TENANT).map((namespace) => blockedTenant(namespace)),
      );
      await addHeadroom(environment, [TENANT.ample]);
    }
    for (let index = 1 - WARM_UP; index <= cycles; index += 1) {
      onProgress(index > 0 ? `pair ${index} of ${cycles}` : 'warming up');
      for (const side of index % 2 === 0 ? sides.toReversed() : sides) side.rounds.push(await runRound(side));
    }
    const [here = [], there = []] = sides.map(({ rounds }) => rounds.slice(WARM_UP));
    const figures = MEASURES.flatMap(([name, unit, valueOf]) =>
      figuresOf({ group: name, unit }, here.map(valueOf), [ref, there.map(valueOf)]),
    );
    return { figures };
  } finally {
    for (const { environment } of sides) await environment.stop();
    checkout.remove();
  }
}

/**
 * Builds the commit in a separate folder, with the packages of this tree. Rejects when git does not know the commit or its build
 * fails.
 */
async function checkOut(ref: string): Promise<TemporaryFolder> {
  const run = promisify(execFile);
  const folder = temporaryFolder('mtq-bench-against-');
  try {
    const archive = join(folder.path, 'archive.tar');
    await run('git', ['archive', '--output', archive, `${ref}^{commit}`], { cwd: HERE });
    await run('tar', ['-xf', archive, '-C', folder.path]);
    symlinkSync(join(HERE, 'node_modules'), join(folder.path, 'node_modules'));
    await run('npm', ['run', '--silent', 'build'], { cwd: folder.path });
    return folder;
  } catch (error) {
    folder.remove();
    throw error;
  }
}

async function runRound({ environment, program }: Side): Promise<Round> {
  const warm = await runCycle(environment, TENANT.blocked);
  const ample = await runCycle(environment, TENANT.ample);
  const startMs = await coldStart(program);
  await toZero(environment);
  return { warm, ample, startMs, cold: await runCycle(environment, TENANT.blocked) };
}

const MEASURES: readonly [name: string, unit: Unit, valueOf: (round: Round) => number][] = [
  ['warm: blocked → target pod', 'ms', ({ warm }) => blockedToPod(warm)],
  ['warm: lock window', 'ms', ({ warm }) => lockWindow(warm)],
  ['warm: time raised', 'ms', ({ warm }) => timeRaised(warm)],
  ['requests of a cycle, without Events', 'requests', ({ warm }) => warm.requests.length - eventCount(warm)],
  ['Events of a cycle', 'requests', ({ warm }) => eventCount(warm)],
  ['requests of a migration that is not blocked', 'requests', ({ ample }) => ample.requests.length],
  ['from zero: blocked → target pod', 'ms', ({ cold }) => blockedToPod(cold)],
  ['from zero: lock window', 'ms', ({ cold }) => lockWindow(cold)],
  ['cold start of one function', 'ms', ({ startMs }) => startMs],
];

function figuresOf(
  { group, unit }: Pick<Figure, 'group' | 'unit'>,
  here: readonly number[],
  [ref, there]: readonly [ref: string, samples: readonly number[]],
): Figure[] {
  const ratio = { group, unit: '×', samples: ratios(here, there) } as const;
  return [
    { group, name: 'this tree', unit, samples: here },
    { group, name: ref, unit, samples: there },
    { ...ratio, name: 'ratio, pair by pair' },
    { ...ratio, name: 'ratio', share: 0.25 },
    { ...ratio, name: 'ratio', share: 0.75 },
  ];
}
