import { describeError } from '../../../functions/kubernetes/errors.ts';
import { problemsOf } from './problems.ts';
import type { PreflightScene } from './scene.ts';
import type { PreflightWorld } from './world.ts';

export interface CheckedSeeds {
  /** Each with its seed; []: nothing is wrong. */
  readonly problems: readonly string[];
  /** The part of the VMs that preflight cannot tell. */
  readonly unknown: number;
}

/** Plays the cases one after the other, and prints counts. The environment's PREFLIGHT_SEED replays one of them. */
export async function checkSeeds(
  world: PreflightWorld,
  { first, count }: { readonly first: number; readonly count: number },
): Promise<CheckedSeeds> {
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
  return (scene.report?.vms ?? []).flatMap(({ namespace, name, outcome, reason, by }) => {
    const later = scene.checked.get(`${namespace}/${name}`)?.later;
    const how = by.length > 0 ? ' by a VMMRQ' : '';
    const suggested = later?.did.isThrough === true ? ', passes with the suggestion' : '';
    const why = outcome === 'Passes' || outcome === 'PassesInTurn' ? '' : ` ${reason}`;
    return ['VMs', outcome, `  ${outcome}${how}${why}${suggested}`];
  });
}
