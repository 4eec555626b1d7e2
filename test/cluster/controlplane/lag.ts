import { createConnection, createServer, type Socket } from 'node:net';

/** A way to etcd on which the answers take longer. */
export interface Lag {
  /** http://127.0.0.1:port */
  readonly url: string;
  /** How much longer, milliseconds; 0 at first. Nothing overtakes what is under way. */
  set(milliseconds: number): void;
  stop(): Promise<void>;
}

/** Passes on bytes between whoever connects and the socket; those to the caller after the lag, in their order. */
export async function startLag(etcdSocket: string): Promise<Lag> {
  const open = new Set<Socket>();
  let lagMs = 0;
  const server = createServer((caller) => {
    const etcd = createConnection(etcdSocket);
    for (const socket of [caller, etcd]) {
      open.add(socket);
      socket.setNoDelay(true);
      // Whoever breaks off takes the other with it; the API server connects again by itself.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        open.delete(socket);
        caller.destroy();
        etcd.destroy();
      });
    }
    caller.pipe(etcd);
    const relay = inOrder((chunk) => caller.write(chunk));
    etcd.on('data', (chunk: Buffer) => relay(chunk, lagMs));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    set: (milliseconds) => {
      lagMs = milliseconds;
    },
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

/** Each chunk is passed on after its delay, none before the one that came before it. */
function inOrder(relay: (chunk: Buffer) => void): (chunk: Buffer, delayMs: number) => void {
  const waiting: Buffer[] = [];
  let last = 0;
  return (chunk, delayMs) => {
    if (delayMs === 0 && waiting.length === 0) {
      relay(chunk);
      return;
    }
    const now = performance.now();
    last = Math.max(last, now + delayMs);
    waiting.push(chunk);
    setTimeout(() => {
      const first = waiting.shift();
      if (first !== undefined) relay(first);
    }, last - now);
  };
}
