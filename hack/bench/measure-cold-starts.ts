import { spawn } from 'node:child_process';
import http from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EVENT, SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { killAtExit } from '../../test/cluster/controlplane/exit.ts';
import { freePort } from '../../test/cluster/controlplane/ports.ts';
import { knativeObjects } from '../../test/cluster/eventing/manifests.ts';
import { environmentOf } from '../../test/cluster/eventing/plan.ts';
import { podEnvironment } from '../../test/cluster/in-pod.ts';
import type { Environment } from './environment.ts';
import { ratios, type Measurements, type MeasureOptions } from './figures.ts';

const HERE = fileURLToPath(new URL('../..', import.meta.url));
const MINIMAL_SERVER: Program = {
  file: fileURLToPath(new URL('minimal-server.mjs', import.meta.url)),
  env: {},
};

/** Alternates between one function as in the image and a minimal server. */
export async function measureColdStarts(
  environment: Environment,
  { cycles, onProgress }: MeasureOptions,
): Promise<Measurements> {
  const lower = await functionProgram(environment);
  const [minimal, image]: [number[], number[]] = [[], []];
  for (let index = 1; index <= cycles; index += 1) {
    onProgress(`cold start ${index} of ${cycles}`);
    minimal.push(await coldStart(MINIMAL_SERVER));
    image.push(await coldStart(lower));
  }
  const group = 'cold start of one function: process → first event answered';
  return {
    figures: [
      { group, name: 'bare node:http', unit: 'ms', samples: minimal },
      { group, name: 'as in the image', unit: 'ms', samples: image },
      { group, name: 'the same, in minimal starts', unit: '×', samples: ratios(image, minimal), target: 1.8 },
    ],
  };
}

export interface Program {
  /** The file that Node runs. */
  readonly file: string;
  /** The environment; `coldStart` adds PORT. */
  readonly env: Readonly<Record<string, string>>;
}

/** `lower` with its manifest's environment and a pod's credentials; `tree`: the folder of another checkout. */
export async function functionProgram({ cluster }: Environment, tree = HERE): Promise<Program> {
  const account = { namespace: SYSTEM_NAMESPACE, name: SERVICE_ACCOUNT.lower };
  const kubeconfig = await cluster.controlPlane.kubeconfigFor(account);
  const service = knativeObjects(cluster.objects).services.find(({ metadata }) => metadata.name === 'lower');
  if (service === undefined) throw new Error('there is no Service lower');
  const env = { ...environmentOf(service), LOG_LEVEL: 'error', ...podEnvironment(kubeconfig) };
  return { file: join(tree, 'dist/functions.mjs'), env };
}

const TIMEOUT_MS = 30_000;

/** Milliseconds from the start of a process to its answer to its first event. */
export async function coldStart({ file, env }: Program): Promise<number> {
  const port = await freePort();
  const began = performance.now();
  const child = spawn(process.execPath, [file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env['PATH'], ...env, PORT: String(port) },
  });
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const forget = killAtExit({ kill: () => child.kill('SIGKILL'), gone });
  try {
    while (!(await isAnswered(port))) {
      if (performance.now() - began > TIMEOUT_MS) throw new Error(`${file} answered no event`);
      await delay(1);
    }
    return performance.now() - began;
  } finally {
    child.kill();
    await gone;
    forget();
  }
}

/** An event about a namespace that is not locked: one read, nothing to do. */
const HEADERS = {
  'ce-specversion': '1.0',
  'ce-id': 'bench',
  'ce-source': '/bench',
  'ce-type': EVENT.quotaRaised,
  'ce-subject': 'default',
  'content-type': 'application/json',
};
const BODY = JSON.stringify({ namespace: 'default', token: 'bench' });

function isAnswered(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method: 'POST', agent: false, headers: HEADERS };
    const request = http.request(options, (answer) => {
      answer.resume();
      if (answer.statusCode === 204) resolve(true);
      else reject(new Error(`the first event was answered with ${String(answer.statusCode)}`));
    });
    request.on('error', () => resolve(false));
    request.end(BODY);
  });
}
