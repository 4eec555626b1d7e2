import { buildBinary } from './build.ts';
import { findBinary } from './find.ts';
import { PARTS, USUAL_BINARIES, type BinaryName, type UsualBinary } from './parts.ts';

export type Binaries<N extends BinaryName = BinaryName> = Record<N, string>;

/** Progress of one part. */
export interface Progress {
  readonly name: BinaryName;
  /** This is part `n` of `of`. */
  readonly n: number;
  readonly of: number;
  readonly state: 'found' | 'building' | 'built';
  /** How long a build from an empty Go cache usually takes. */
  readonly usual: string;
}

const building = new Map<BinaryName, Promise<string>>();

/**
 * The paths of the wanted binaries (by default all but Helm). It finds existing ones (findBinary) and
 * builds the others into the cache, one by one, because Go uses all cores for each. Rejects when one is not available,
 * with its name and the reason.
 */
export async function ensureBinaries<N extends BinaryName = UsualBinary>(
  names: readonly N[] = USUAL_BINARIES as readonly BinaryName[] as readonly N[],
  onProgress: (progress: Progress) => void = () => undefined,
): Promise<Binaries<N>> {
  const paths: Partial<Binaries> = {};
  for (const [index, name] of names.entries()) {
    const step = { name, n: index + 1, of: names.length, usual: PARTS[name].usual };
    const found = findBinary(name);
    if (found !== undefined) {
      paths[name] = found;
      onProgress({ ...step, state: 'found' });
      continue;
    }
    onProgress({ ...step, state: 'building' });
    paths[name] = await buildOnce(name);
    onProgress({ ...step, state: 'built' });
  }
  return paths as Binaries<N>;
}

/** Two parallel callers share one build. */
async function buildOnce(name: BinaryName): Promise<string> {
  const build = building.get(name) ?? buildBinary(name);
  building.set(name, build);
  try {
    return await build;
  } finally {
    building.delete(name);
  }
}
