import express, { type Express, type Request } from 'express';
import type { Registry } from 'prom-client';
import { MAX_BODY_BYTES } from './body-limit.ts';
import type { DeadLetters } from './dead-letter.ts';
import { viewRoute, type ViewSource } from '../view/view-route.ts';

export interface HealthOptions {
  /** Why reviews cannot be taken now; undefined: they can. */
  readonly ready: () => string | undefined | Promise<string | undefined>;
  readonly deadLetters: DeadLetters;
  /** Left out: there is no /view. */
  readonly view?: ViewSource;
  /** Left out: there is no /metrics. */
  readonly metrics?: Registry;
}

/**
 * GET /health/liveness: 200 as long as the process serves. GET /health/readiness: 200, or 503 and the reason.
 * GET /view: what the cluster around a namespace is like (view-route.ts).
 * GET /metrics: what the guard counts, asks nobody.
 * POST /dead-letter: 204 whatever comes, because a failing dead letter sink helps nobody.
 * No body is read: one that is longer than MAX_BODY_BYTES ends its connection, after the answer.
 */
export function healthApp({ ready, deadLetters, metrics, view }: HealthOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use((request, _, next) => {
    discardBody(request);
    next();
  });
  app.get('/health/liveness', (_, response) => {
    response.type('text/plain').send('ok\n');
  });
  app.get('/health/readiness', async (_, response) => {
    const reason = await ready();
    response.status(reason === undefined ? 200 : 503);
    response.type('text/plain').send(`${reason ?? 'ok'}\n`);
  });
  if (view !== undefined) app.get('/view', viewRoute(view));
  if (metrics !== undefined) {
    app.get('/metrics', async (_, response) => {
      response.set('content-type', metrics.contentType).end(await metrics.metrics());
    });
  }
  app.post('/dead-letter', (request, response) => {
    // The attributes are in the headers: answered before the body is here, so that no limit that cuts it off makes the
    // Broker try again what nobody reads.
    deadLetters.receive(request.headers);
    response.status(204).end();
  });
  app.use((_, response) => {
    response.status(404).end();
  });
  return app;
}

/** Thrown away as it comes. */
function discardBody(request: Request): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) request.socket.destroy();
  });
}
