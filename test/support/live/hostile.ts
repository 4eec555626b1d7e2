import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Remote } from '../../../functions/live/read/remote.ts';
import { newServingCertificate } from '../../cluster/serving-certificate.ts';

/** How the server answers every request (hostile-server.ts), and whether that takes seconds. */
export const WAYS = {
  quick: [
    ...[
      'bomb',
      'values',
      'numbers',
      'deep',
      'long',
      'headers',
      'crumbs',
      'refused',
      'redirect',
      'upgrade',
      'html',
    ],
    ...['number', 'null', 'empty', 'dates', 'broken', 'reset'],
  ],
  slow: ['silent', 'trickle', 'trickledHeaders', 'information', 'spaces'],
} as const;

/** An API server that a tenant wrote, in a thread of its own. */
export interface HostileServer {
  /** What a Provider says of it. */
  readonly remote: (way: string) => Remote;
  readonly stop: () => Promise<void>;
}

export async function startHostileServer(): Promise<HostileServer> {
  const { serving, ca } = newServingCertificate();
  const worker = new Worker(new URL('hostile-server.ts', import.meta.url), { workerData: serving });
  const [port] = (await once(worker, 'message')) as [number];
  return {
    remote: (way) => ({
      url: `https://localhost:${String(port)}/${way}`,
      token: 'token',
      ca,
      isInsecure: false,
      tenant: 'tenant',
    }),
    stop: async () => {
      await worker.terminate();
    },
  };
}
