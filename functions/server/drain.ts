import { setTimeout as delay } from 'node:timers/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';

/**
 * Lifetime of an idle connection, longer than the API server, the Broker or queue-proxy keep one: the server must not close one
 * while the client sends.
 */
const KEEP_ALIVE_MS = 120_000;
/** A whole request must be here by then; the API server gives up after 3 s, a Trigger's delivery after 10. */
const REQUEST_MS = 10_000;
/** Default time that a close waits before it cuts the requests under way. */
const DRAIN_MS = 5_000;

/**
 * Tracks the requests under way and returns a function that closes this server without losing an answer. For `lingerMs` the
 * server still serves, and ends each connection after its answer. Then it accepts no more connections and resolves when the
 * last one is gone, at most `withinMs` later.
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
  // The connections that are left are idle, or were never used (closeIdleConnections overlooks those).
  const cutWhenDone = (): void => {
    if (closing && underWay.size === 0) server.closeAllConnections();
  };
  // Before the app's own listener, which may send the headers as soon as it runs.
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

/** Ends a kept-alive connection after this answer. */
function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
