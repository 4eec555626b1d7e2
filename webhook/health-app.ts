import express, { type Express } from 'express';
import type { DeadLetters } from './dead-letter.ts';
import { CONTENT_TYPE } from './exposition.ts';

export interface HealthOptions {
  /** Why reviews cannot be taken now; undefined: they can. */
  readonly ready: () => string | undefined | Promise<string | undefined>;
  readonly deadLetters: DeadLetters;
  /** In Prometheus' text format; left out: there is no /metrics. */
  readonly metrics?: () => string;
}

/**
 * GET /health/liveness: 200 as long as the process serves. GET /health/readiness: 200, or 503 and the reason.
 * GET /metrics: what the guard counts, asks nobody.
 * POST /dead-letter: 204 whatever comes, because a failing dead letter sink helps nobody.
 */
export function healthApp({ ready, deadLetters, metrics }: HealthOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/health/liveness', (_, response) => {
    response.type('text/plain').send('ok\n');
  });
  app.get('/health/readiness', async (_, response) => {
    const reason = await ready();
    response.status(reason === undefined ? 200 : 503);
    response.type('text/plain').send(`${reason ?? 'ok'}\n`);
  });
  if (metrics !== undefined) {
    app.get('/metrics', (_, response) => {
      response.set('content-type', CONTENT_TYPE).end(metrics());
    });
  }
  app.post('/dead-letter', (request, response) => {
    deadLetters.receive(request.headers);
    // The attributes are in the headers: the body is thrown away as it comes, however large it is.
    request.resume().once('end', () => {
      response.status(204).end();
    });
  });
  app.use((_, response) => {
    response.status(404).end();
  });
  return app;
}
