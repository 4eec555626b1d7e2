import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the range from which systems give ports to outgoing connections: nobody takes ours while the server restarts. */
const FIRST = 20_000;
const LAST = 32_000;
const TRIES = 50;

/** By this process; not all of them are listened on yet. */
const given = new Set<number>();

/** A port of 127.0.0.1 that was free a moment ago: the caller tries again with another when it no longer is. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const port = randomInt(FIRST, LAST);
    if (given.has(port)) continue;
    given.add(port);
    if (await canListen(port)) return port;
  }
  throw new Error(`no free port on 127.0.0.1 between ${FIRST} and ${LAST} after ${TRIES} tries`);
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
