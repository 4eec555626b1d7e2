import { createConnection, createServer, type Socket } from 'node:net';

/** A proxy to etcd that delays the answers. */
export interface Lag {
  /** http://127.0.0.1:port */
  readonly url: string;
  /** The delay, milliseconds; 0 at first. Answers stay in order. */
  set(milliseconds: number): void;
  stop(): Promise<void>;
}

/** Forwards bytes between each client and the socket; bytes to the client come after the delay, in order. */
export async function startLag(etcdSocket: string): Promise<Lag> {
  const open = new Set<Socket>();
  let lagMs = 0;
  const server = createServer((caller) => {
    const etcd = createConnection(etcdSocket);
    for (const socket of [caller, etcd]) {
      open.add(socket);
      socket.setNoDelay(true);
      // A broken side closes the other one; the API server reconnects by itself.
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

/** Forwards each chunk after its delay, and never before an earlier chunk. */
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
