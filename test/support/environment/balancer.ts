import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Backend {
  readonly port: number;
  /** Port of its readiness probe: http://127.0.0.1:<healthPort>/health/readiness. */
  readonly healthPort: number;
}

/** A Service in front of several replicas, like kube-proxy: new connections go to a replica that was ready at the last probe. */
export interface Balancer {
  readonly port: number;
  add(backend: Backend): void;
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 50;

export async function startBalancer(): Promise<Balancer> {
  const backends: (Backend & { ready: boolean })[] = [];
  const sockets = new Set<Socket>();
  let next = 0;
  const server = createServer((client) => {
    const ready = backends.filter((backend) => backend.ready);
    const chosen = ready[next++ % Math.max(1, ready.length)];
    if (chosen === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect(chosen.port, '127.0.0.1');
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0);
  await once(server, 'listening');
  const stopping = new AbortController();
  const looking = look();
  return {
    port: (server.address() as AddressInfo).port,
    add: (backend) => {
      backends.push({ ...backend, ready: false });
    },
    stop: async () => {
      stopping.abort();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await looking;
    },
  };

  async function look(): Promise<void> {
    while (!stopping.signal.aborted) {
      await Promise.all(backends.map(async (backend) => (backend.ready = await isReady(backend))));
      await delay(LOOK_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }
}

/** A replica that does not answer in time keeps its state: the kubelet also ignores a single late probe. */
async function isReady({ healthPort, ready }: Backend & { readonly ready: boolean }): Promise<boolean> {
  const signal = AbortSignal.timeout(1_000);
  try {
    return (await fetch(`http://127.0.0.1:${healthPort}/health/readiness`, { signal })).ok;
  } catch {
    return signal.aborted && ready;
  }
}
