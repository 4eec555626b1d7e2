import express, { type Express } from 'express';
import type { Registry } from 'prom-client';
import { discardBody } from '../../functions/server/bodies.ts';
import type { FairTurns } from '../../functions/server/fair-turns.ts';
import type { DeadLetters } from './dead-letter.ts';
import { maintenanceRoute, type MaintenanceSource } from '../maintenance/maintenance-route.ts';
import { viewRoute, type ViewSource } from '../view/view-route.ts';

export interface HealthOptions {
  /** The reason why the guard cannot take reviews now; undefined: it can. */
  readonly ready: () => string | undefined | Promise<string | undefined>;
  readonly deadLetters: DeadLetters;
  /** The turns of all requests to this process. */
  readonly turns: FairTurns;
  /** The source of /view; without it, the app has no /view. */
  readonly view?: ViewSource;
  /** The source of /maintenance; without it, the app has no /maintenance. */
  readonly maintenance?: MaintenanceSource;
  /** The metrics of /metrics; without them, the app has no /metrics. */
  readonly metrics?: Registry;
}

/**
 * GET /health/liveness: 200 as long as the process serves. GET /health/readiness: 200, or 503 and the reason.
 * GET /view: the cluster as seen from one namespace (view-route.ts).
 * GET /maintenance: one drain, or the upgrade (maintenance-route.ts).
 * GET /metrics: the guard's counters, without any request to the API server.
 * POST /dead-letter: always 204, because no component can handle a failing dead letter sink.
 * No body is needed (discardBody). Liveness waits for no turn.
 */
export function healthApp({ ready, deadLetters, turns, metrics, view, maintenance }: HealthOptions): Express {
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
  app.use(async (_, response, next) => {
    const end = await turns.take(response);
    if (end === undefined) return;
    // Once the answer is made: a client may be slow to read it.
    response.once('prefinish', end).once('close', end);
    next();
  });
  app.get('/health/readiness', async (_, response) => {
    const reason = await ready();
    response.status(reason === undefined ? 200 : 503);
    response.type('text/plain').send(`${reason ?? 'ok'}\n`);
  });
  if (view !== undefined) app.get('/view', viewRoute(view));
  if (maintenance !== undefined) app.get('/maintenance', maintenanceRoute(maintenance));
  if (metrics !== undefined) {
    app.get('/metrics', async (_, response) => {
      response.set('content-type', metrics.contentType).end(await metrics.metrics());
    });
  }
  app.post('/dead-letter', (request, response) => {
    // The attributes are in the headers. The answer precedes the body: a body over the limit must not make the Broker retry an
    // event that the guard does not read.
    deadLetters.receive(request.headers);
    response.status(204).end();
  });
  app.use((_, response) => {
    response.status(404).end();
  });
  return app;
}
