import { fileURLToPath } from 'node:url';
import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { bareProgram, coldStart, type Program } from './cold-start.ts';
import type { Figure } from './figures.ts';
import type { Measuring } from './measuring.ts';
import type { Scene } from './scene.ts';
import { ratios } from './statistics.ts';

const BUNDLE = fileURLToPath(new URL('../../dist/functions.mjs', import.meta.url));

/** One function and a bare server of Node's, in turn, with and without a compile cache. */
export async function measureColdStarts(
  { cluster }: Scene,
  { releases, compileCache, onProgress }: Measuring,
): Promise<Figure[]> {
  const name = SERVICE_ACCOUNT.lower;
  const kubeconfig = await cluster.controlPlane.kubeconfigFor({ namespace: SYSTEM_NAMESPACE, name });
  const env = { STEP: 'lower', KUBECONFIG: kubeconfig, LOG_LEVEL: 'error' };
  const cached = { NODE_COMPILE_CACHE: compileCache };
  const programs = {
    bare: bareProgram(cached),
    function: { file: BUNDLE, env: { ...env, ...cached } },
    uncached: { file: BUNDLE, env },
  } satisfies Record<string, Program>;

  const times = { bare: [] as number[], function: [] as number[], uncached: [] as number[] };
  for (let index = 0; index <= releases; index += 1) {
    if (index > 0) onProgress(`cold start ${index} of ${releases}`);
    for (const which of ['bare', 'function', 'uncached'] as const) {
      const ms = await coldStart(programs[which]);
      // The first ones fill the compile cache.
      if (index > 0) times[which].push(ms);
    }
  }
  const group = 'cold start of one function: process → first event answered';
  return [
    { group, name: 'bare node:http', unit: 'ms', samples: times.bare },
    { group, name: 'with a compile cache', unit: 'ms', samples: times.function },
    {
      group,
      name: 'the same, in bare starts',
      unit: '×',
      samples: ratios(times.function, times.bare),
      atMost: 3,
    },
    { group, name: 'without a compile cache', unit: 'ms', samples: times.uncached },
  ];
}
