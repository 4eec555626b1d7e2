import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as httpsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { reviewOf } from './hostile-client.ts';

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
  readonly reviews: readonly number[];
  readonly liveness: readonly number[];
}

const WITHIN_MS = 3_000;
const REVIEW = reviewOf('{"metadata":{}}', 'default');

/** Sends real reviews as an API server of this address does, on connections that it keeps, and liveness probes as a kubelet does, on new ones. */
export async function measure(
  { tlsPort, healthPort }: { readonly tlsPort: number; readonly healthPort: number },
  { count, address }: { readonly count: number; readonly address: string },
): Promise<Latencies> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, localAddress: address });
  const ask = async (): Promise<number> => {
    const since = performance.now();
    const request = httpsRequest({
      ...{ host: address, port: tlsPort, method: 'POST', path: '/review', agent },
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(REVIEW) },
      signal: AbortSignal.timeout(WITHIN_MS),
    });
    try {
      const responded = once(request, 'response');
      request.end(REVIEW);
      const [response] = (await responded) as [IncomingMessage];
      const text = (await response.toArray()).join('');
      // A refusal because of our own deadline is no answer.
      return text.includes('"uid"') && !text.includes('"code":503') ? performance.now() - since : Infinity;
    } catch {
      return Infinity;
    }
  };
  const probe = async (): Promise<number> => {
    const since = performance.now();
    const url = `http://127.0.0.1:${String(healthPort)}/health/liveness`;
    const headers = { connection: 'close' };
    return fetch(url, { headers, signal: AbortSignal.timeout(WITHIN_MS) }).then(
      ({ ok }) => (ok ? performance.now() - since : Infinity),
      () => Infinity,
    );
  };
  const [reviews, liveness]: Promise<number>[][] = [[], []];
  for (let at = 0; at < count; at += 1) {
    reviews?.push(ask());
    liveness?.push(probe());
    await delay(50);
  }
  const latencies = {
    reviews: await Promise.all(reviews ?? []),
    liveness: await Promise.all(liveness ?? []),
  };
  agent.destroy();
  return latencies;
}
