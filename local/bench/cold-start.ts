import { spawn } from 'node:child_process';
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { EVENT } from '../../functions/domain/names.ts';
import { freePort } from '../controlplane/ports.ts';
import { killAtExit } from '../controlplane/exit.ts';

export interface Program {
  /** What Node runs. */
  readonly file: string;
  /** PORT is added. */
  readonly env: Readonly<Record<string, string>>;
  /** What it writes to standard error; left out: ours. */
  readonly onError?: (text: string) => void;
}

/** A bare server of Node's. */
export const bareProgram = (env: Program['env']): Program => ({
  file: fileURLToPath(new URL('bare.mjs', import.meta.url)),
  env,
});

const TRY_EVERY_MS = 1;
const PATIENCE_MS = 30_000;

/** Milliseconds from the start of a process to its answer to its first event. The process then ends by SIGTERM. */
export async function coldStart({ file, env, onError }: Program): Promise<number> {
  const port = await freePort();
  const began = performance.now();
  const child = spawn(process.execPath, [file], {
    stdio: ['ignore', 'ignore', onError === undefined ? 'inherit' : 'pipe'],
    env: { PATH: process.env['PATH'], ...env, PORT: String(port) },
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => onError?.(text));
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const forget = killAtExit({ kill: () => child.kill('SIGKILL'), gone });
  try {
    while (!(await isAnswered(port))) {
      if (performance.now() - began > PATIENCE_MS) throw new Error(`${file} answered no event`);
      await delay(TRY_EVERY_MS);
    }
    return performance.now() - began;
  } finally {
    // In good order: only then is the compile cache written.
    child.kill('SIGTERM');
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
