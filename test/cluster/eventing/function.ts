import { closeSync, openSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild, type Child } from '../controlplane/children.ts';
import { confined } from '../confined.ts';
import { freePort } from '../controlplane/ports.ts';
import { followLines } from './logfile.ts';

export interface Launch {
  readonly name: string;
  /** What Node runs. */
  readonly bundle: string;
  /** PORT is added. */
  readonly env: NodeJS.ProcessEnv;
  readonly readinessPath: string;
  /** How long it may take to be ready. */
  readonly startMs: number;
  /** Created; its output is kept there. */
  readonly logFile: string;
  readonly onLine: (line: string) => void;
}

/** A function's process that has said it is ready. */
export interface FunctionProcess {
  readonly port: number;
  readonly child: Child;
}

/** It ended, or was not ready in time; the message has the end of its log. */
export class NotReady extends Error {
  override readonly name = 'NotReady';
}

const POLL_MS = 10;

/** Starts the bundle and waits until its readiness answers 200. Rejects with NotReady; leaves no process then. */
export async function launchFunction(launch: Launch): Promise<FunctionProcess> {
  const port = await freePort();
  closeSync(openSync(launch.logFile, 'a'));
  const follower = followLines(launch.logFile, launch.onLine);
  const child = await startChild({
    name: launch.name,
    command: process.execPath,
    args: confined(launch.bundle, launch.env),
    logFile: launch.logFile,
    env: { ...launch.env, PORT: String(port) },
  });
  void child.ended.then(() => follower.finish());
  const problem = await whyNotReady(launch, { port, child });
  if (problem === undefined) return { port, child };
  await child.stop(0);
  throw new NotReady(`${launch.name} ${problem}. The end of its log:\n${child.logTail()}`);
}

async function whyNotReady(launch: Launch, { port, child }: FunctionProcess): Promise<string | undefined> {
  const over = new AbortController();
  const ended = child.ended.then((how) => `ended before it was ready (${how})`);
  const late = AbortSignal.timeout(launch.startMs);
  const ready = (async () => {
    while (!over.signal.aborted && !late.aborted) {
      if (await answersOk(port, launch.readinessPath)) return undefined;
      await sleep(POLL_MS);
    }
    return `was not ready after ${launch.startMs} ms`;
  })();
  const problem = await Promise.race([ready, ended]);
  over.abort();
  return problem;
}

async function answersOk(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path, agent: false, timeout: 2_000 };
    const request = http.get(options, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}
