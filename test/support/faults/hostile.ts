import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as httpsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { anEvent } from '../environment/function-host.ts';
import { startGuards, type Replica } from '../environment/guards.ts';
import { ownAddress, publish } from '../environment/published.ts';
import { reviewOf, TO_HEALTH, TO_REVIEWS } from './hostile-client.ts';

const CLIENT = fileURLToPath(new URL('hostile-client.ts', import.meta.url));

export interface Hostility {
  readonly port: number;
  /** A key of TO_REVIEWS or TO_HEALTH. */
  readonly shape: string;
  readonly connections: number;
  /** Requests a second in all; 0: as fast as answers come. */
  readonly perSecond: number;
}

/** Resolves when the hostile client sends. */
export async function startHostileClient(hostility: Hostility): Promise<{ stop: () => Promise<void> }> {
  const { port, shape, connections, perSecond } = hostility;
  const args = [CLIENT, String(port), shape, String(connections), String(perSecond)];
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  if (child.stdout === null) throw new Error('it has no output');
  await once(child.stdout, 'data');
  return {
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Milliseconds of each request; Infinity for one without a usable answer within the API server's 3 s. */
export interface Latencies {
  /** Reviews, or events. */
  readonly work: readonly number[];
  readonly liveness: readonly number[];
}

const WITHIN_MS = 3_000;
const EVERY_MS = 50;
const REVIEW = reviewOf('{"metadata":{}}', 'default');

/** Sends so many real requests, and liveness probes as a kubelet does, each twenty times a second. */
export async function measure(
  { ask, healthPort }: { readonly ask: () => Promise<boolean>; readonly healthPort: number },
  count: number,
): Promise<Latencies> {
  const probe = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${String(healthPort)}/health/liveness`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(WITHIN_MS),
    }).then(({ ok }) => ok);
  const work: Promise<number>[] = [];
  const liveness: Promise<number>[] = [];
  for (let at = 0; at < count; at += 1) {
    work.push(timed(ask));
    liveness.push(timed(probe));
    await delay(EVERY_MS);
  }
  return { work: await Promise.all(work), liveness: await Promise.all(liveness) };
}

async function timed(ask: () => Promise<boolean>): Promise<number> {
  const since = performance.now();
  const isAnswered = await ask().catch(() => false);
  return isAnswered ? performance.now() - since : Infinity;
}

/** Returns what sends real reviews as an API server of this address does, on connections that it keeps. */
export function reviewsFrom(address: string, tlsPort: number): () => Promise<boolean> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, localAddress: address });
  return async () => {
    const request = httpsRequest({
      ...{ host: address, port: tlsPort, method: 'POST', path: '/review', agent },
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(REVIEW) },
      signal: AbortSignal.timeout(WITHIN_MS),
    });
    const responded = once(request, 'response');
    request.end(REVIEW);
    const [response] = (await responded) as [IncomingMessage];
    const text = (await response.toArray()).join('');
    // A refusal because of our own deadline is no answer.
    return text.includes('"uid"') && !text.includes('"code":503');
  };
}

/** What any pod may send to a guard, with the port that it goes to. */
export const ATTACKS_ON_GUARD = [
  ...Object.keys(TO_REVIEWS).map((shape) => ({ shape, port: 'tlsPort' as const })),
  ...Object.keys(TO_HEALTH).map((shape) => ({ shape, port: 'healthPort' as const })),
];

/** A guard, and what a known API server and a kubelet send to it. */
export interface AttackedGuard {
  readonly replica: Replica;
  readonly real: Parameters<typeof measure>[0];
  readonly stop: () => Promise<void>;
}

export async function startAttackedGuard(): Promise<AttackedGuard> {
  const guards = await startGuards({});
  // Its reviews are served before those of others.
  await publish(guards.admin, guards.controlPlane.apiServers);
  const replica = await guards.start('guard');
  const real = { ask: reviewsFrom(ownAddress(), replica.tlsPort), healthPort: replica.healthPort };
  return { replica, real, stop: () => guards.stop() };
}

/** Returns what sends an event as the Broker does. */
export const eventsTo =
  (port: number): (() => Promise<boolean>) =>
  async () => {
    const { headers = {}, body = '' } = anEvent();
    const signal = AbortSignal.timeout(WITHIN_MS);
    const url = `http://127.0.0.1:${String(port)}/`;
    return (await fetch(url, { method: 'POST', headers, body, signal })).status === 204;
  };
