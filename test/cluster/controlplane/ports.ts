import { randomInt } from 'node:crypto';
import getPort from 'get-port';

/** Below the range of ports for outgoing connections, so that no connection takes the port while the server restarts. */
const FIRST = 20_000;
const LAST = 32_000;
/** Jest's workers have a share each, because a port is bound only seconds after it is chosen. */
const SHARES = 4;
const SHARE = (LAST - FIRST) / SHARES;
const OWN = FIRST + SHARE * (Number(process.env['JEST_WORKER_ID'] ?? 0) % SHARES);
const TRIES = 50;

/**
 * A port of 127.0.0.1 that was just free, and never the same twice: the caller retries with another one when
 * another process took it meanwhile. Random, because several processes look at the same time.
 */
export const freePort = (): Promise<number> =>
  getPort({
    host: '127.0.0.1',
    port: Array.from({ length: TRIES }, () => randomInt(OWN, OWN + SHARE)),
    reserve: true,
  });
