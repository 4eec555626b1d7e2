import { setTimeout as delay } from 'node:timers/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';

/** Longer than the API server, the Broker or queue-proxy keep an idle connection: never close one that is sending. */
const KEEP_ALIVE_MS = 120_000;
/** A whole request must be here by then; the API server gives up after 3 s, a Trigger's delivery after 10. */
const REQUEST_MS = 10_000;
/** How long a close waits before it cuts what is under way, unless told otherwise. */
const DRAIN_MS = 5_000;

/**
 * Keeps track of what is under way. Answers how to close this server without losing an answer: for `lingerMs` it serves
 * on, ending each connection after its answer; then it takes no more connections and resolves when the last one is
 * gone, at most `withinMs` later.
 */
export function drainable(
  server: Server | TlsServer,
  withinMs = DRAIN_MS,
): (lingerMs?: number) => Promise<void> {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = REQUEST_MS;
  const underWay = new Set<ServerResponse>();
  let leaving = false;
  let closing = false;
  // Connections that are left have nothing to wait for: idle, or never used (which closeIdleConnections overlooks).
  const cutWhenDone = (): void => {
    if (closing && underWay.size === 0) server.closeAllConnections();
  };
  // Before the app's own listener: its headers may be sent as soon as that one runs.
  server.prependListener('request', (_: IncomingMessage, response: ServerResponse) => {
    if (leaving) closeAfter(response);
    underWay.add(response);
    response.once('close', () => {
      underWay.delete(response);
      cutWhenDone();
    });
  });
  return async (lingerMs = 0) => {
    leaving = true;
    underWay.forEach(closeAfter);
    if (lingerMs > 0) await delay(lingerMs);
    closing = true;
    if (!server.listening) return;
    const timeout = setTimeout(() => server.closeAllConnections(), withinMs);
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      cutWhenDone();
    });
    clearTimeout(timeout);
  };
}

/** Ends the connection once this answer is out, where it would be kept for the next request. */
function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
