import type { LocalClusterOptions } from '../cluster.ts';
import { temporaryFolder } from '../controlplane/exit.ts';
import { measureBursts } from './measure-bursts.ts';
import { measureColdStarts } from './measure-cold-starts.ts';
import { measureGuard } from './measure-guard.ts';
import { measureReleases } from './measure-releases.ts';
import type { Findings } from './report.ts';
import { startScene } from './scene.ts';

export interface BenchOptions {
  /** How many of each; at least 1. */
  readonly releases: number;
  /** Whole parts of it; left out: all. */
  readonly only?: readonly Part[];
  readonly cluster?: LocalClusterOptions;
  /** What is under way, for people. */
  readonly onProgress: (line: string) => void;
}

const MEASURES = {
  releases: measureReleases,
  'cold-starts': measureColdStarts,
  guard: measureGuard,
  bursts: measureBursts,
} as const;

export type Part = keyof typeof MEASURES;
export const PARTS = Object.keys(MEASURES) as readonly Part[];

/** Measures everything in one installation, one thing after the other, so that the figures can be compared. */
export async function bench({
  releases,
  only = PARTS,
  cluster,
  onProgress,
}: BenchOptions): Promise<Findings[]> {
  const compileCache = temporaryFolder('mtq-compile-cache-');
  const scene = await startScene({
    ...cluster,
    onProgress,
  });
  try {
    const findings: Findings[] = [];
    for (const part of PARTS.filter((each) => only.includes(each))) {
      findings.push(await MEASURES[part](scene, { releases, onProgress, compileCache: compileCache.path }));
    }
    return findings;
  } finally {
    await scene.stop();
    compileCache.remove();
  }
}
