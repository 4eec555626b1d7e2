import { expect } from '@jest/globals';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import { problemsOf } from './problems.ts';
import type { PreflightScene } from './scene.ts';
import { startPreflightWorld, type PreflightWorld } from './world.ts';

/** These random cases, one after the other. */
export interface Seeds {
  readonly first: number;
  readonly count: number;
}

interface CheckedSeeds {
  /** Each with its seed; []: nothing is wrong. */
  readonly problems: readonly string[];
  /** The part of the VMs that preflight cannot tell, without those that it must not tell. */
  readonly unknown: number;
}

/**
 * Random clusters on a real API server: what preflight says of each VM is what quota admission then does. Prints counts. The
 * environment's PREFLIGHT_SEED replays one of them.
 */
export async function expectPreflightIsRight(seeds: Seeds): Promise<void> {
  const world = await startPreflightWorld();
  try {
    const { problems, unknown } = await checkSeeds(world, seeds);
    expect(problems).toEqual([]);
    expect(unknown).toBeLessThanOrEqual(MAX_UNKNOWN);
  } finally {
    await world.stop();
  }
}

const MAX_UNKNOWN = 0.05;

async function checkSeeds(world: PreflightWorld, { first, count }: Seeds): Promise<CheckedSeeds> {
  const only = process.env['PREFLIGHT_SEED'];
  const seeds =
    only === undefined ? Array.from({ length: count }, (_, index) => first + index) : [Number(only)];
  const problems: string[] = [];
  const counts = new Map<string, number>();
  for (const seed of seeds) {
    const found = await checkSeed(world, seed, counts);
    for (const problem of found) process.stdout.write(`seed ${String(seed)}: ${problem}\n`);
    problems.push(...found.map((problem) => `seed ${String(seed)}: ${problem}`));
  }
  const lines = [...counts].toSorted().map(([what, number]) => `${String(number).padStart(6)}  ${what}`);
  process.stdout.write(`seeds ${String(seeds[0])} to ${String(seeds.at(-1))}\n${lines.join('\n')}\n`);
  return { problems, unknown: (counts.get('CannotTell') ?? 0) / Math.max(1, counts.get('VMs') ?? 0) };
}

async function checkSeed(
  world: PreflightWorld,
  seed: number,
  counts: Map<string, number>,
): Promise<string[]> {
  try {
    const scene = await world.play(seed);
    for (const what of outcomesOf(scene)) counts.set(what, (counts.get(what) ?? 0) + 1);
    return problemsOf(scene);
  } catch (error) {
    return [describeError(error)];
  }
}

/** "Passes", "Passes by a VMMRQ", "Stuck NotEnough, passes with the suggestion", … */
function outcomesOf(scene: PreflightScene): string[] {
  return (scene.report?.vms ?? []).flatMap((said) => {
    const { namespace, name, outcome, reason, by } = said;
    const unknown = scene.unknownOf(said);
    if (unknown !== 'no') return [`  ${outcome}: ${unknown}`];
    const later = scene.checked.get(`${namespace}/${name}`)?.later;
    const how = by.length > 0 ? ' by a VMMRQ' : '';
    const suggested = later?.did.isThrough === true ? ', passes with the suggestion' : '';
    const why = outcome === 'Passes' || outcome === 'PassesInTurn' ? '' : ` ${reason}`;
    return ['VMs', outcome, `  ${outcome}${how}${why}${suggested}`];
  });
}
