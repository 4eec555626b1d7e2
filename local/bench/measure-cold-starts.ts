import { fileURLToPath } from 'node:url';
import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { podEnvironment } from '../in-pod.ts';
import { bareProgram, coldStart, type Program } from './cold-start.ts';
import type { Figure } from './figures.ts';
import type { Measuring } from './measuring.ts';
import type { Detail, Findings } from './report.ts';
import type { Scene } from './scene.ts';
import { median, ratios } from './statistics.ts';

const BUNDLE = fileURLToPath(new URL('../../dist/functions.mjs', import.meta.url));
const MARKS = new URL('marks.mjs', import.meta.url).href;

/** One function and a bare server of Node's, in turn; as in a pod, and with what could be had besides. */
export async function measureColdStarts(
  { cluster: { controlPlane } }: Scene,
  { releases, compileCache, onProgress }: Measuring,
): Promise<Findings> {
  const account = { namespace: SYSTEM_NAMESPACE, name: SERVICE_ACCOUNT.lower };
  const kubeconfig = await controlPlane.kubeconfigFor(account);
  const pod = podEnvironment(kubeconfig);
  const env = { STEP: 'lower', LOG_LEVEL: 'error', ...pod };
  const marks: string[] = [];
  const programs = {
    bare: bareProgram({}),
    pod: { file: BUNDLE, env },
    cached: { file: BUNDLE, env: { ...env, NODE_COMPILE_CACHE: compileCache } },
    kubeconfig: { file: BUNDLE, env: { ...env, KUBECONFIG: kubeconfig } },
    marked: {
      file: BUNDLE,
      env: { ...env, NODE_OPTIONS: `--import=${MARKS}` },
      onError: (text) => marks.push(text),
    },
  } satisfies Record<string, Program>;

  const names = Object.keys(programs) as (keyof typeof programs)[];
  const times = Object.fromEntries(names.map((name): [string, number[]] => [name, []]));
  for (let index = 0; index <= releases; index += 1) {
    if (index > 0) onProgress(`cold start ${index} of ${releases}`);
    for (const name of names) {
      const ms = await coldStart(programs[name]);
      // The first ones fill the compile cache.
      if (index > 0) times[name]?.push(ms);
    }
  }
  return { figures: figuresOf(times), details: [detailOf(marks.slice(1))] };
}

function figuresOf({
  bare = [],
  pod = [],
  cached = [],
  kubeconfig = [],
}: Record<string, number[]>): Figure[] {
  const group = 'cold start of one function: process → first event answered';
  return [
    { group, name: 'bare node:http', unit: 'ms', samples: bare },
    { group, name: 'as in the image', unit: 'ms', samples: pod },
    { group, name: 'the same, in bare starts', unit: '×', samples: ratios(pod, bare), atMost: 3 },
    { group, name: 'with a compile cache', unit: 'ms', samples: cached },
    { group, name: 'the same, in bare starts', unit: '×', samples: ratios(cached, bare), atMost: 3 },
    { group, name: 'by KUBECONFIG (out of the cluster)', unit: 'ms', samples: kubeconfig },
  ];
}

/** In the order in which they happen (marks.mjs). */
const STEPS = {
  node: 'Node itself is there',
  loaded: 'our code is loaded and has run',
  listening: 'it listens',
  event: 'the first event has come',
  asks: 'the event is understood; the API server is asked',
  connected: 'the connection is made (TCP, TLS)',
  read: 'the API server has answered',
  answered: 'the event is answered',
} as const;

function detailOf(texts: readonly string[]): Detail {
  const marks = texts.map((text) => JSON.parse(text) as Record<keyof typeof STEPS, number>);
  let before = 0;
  const lines = Object.entries(STEPS).map(([name, what]) => {
    const at = median(marks.map((each) => each[name as keyof typeof STEPS]));
    const line = `${at.toFixed(1).padStart(8)}  +${(at - before).toFixed(1).padStart(6)}  ${what}`;
    before = at;
    return line;
  });
  return {
    heading: 'a cold start as in the image, in milliseconds from the start of the process (medians)',
    lines,
  };
}
