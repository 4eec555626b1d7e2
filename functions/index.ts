import type { Handle } from './host/function.ts';
import { reachApiServer } from './kubernetes/api-server.ts';
import { newLog } from './runtime/log.ts';
import { readSettings } from './runtime/settings.ts';
import { functionFor } from './registry.ts';

const settings = readSettings(process.env);
const log = newLog(settings.LOG_LEVEL, { process: settings.STEP ?? 'functions' });
const served = await functionFor({ cluster: await reachApiServer(settings), settings, log });

/** The steps as a plain Knative function, for `func` and faas-js-runtime: one process, one `handle`. */
export const handle: Handle = served.handle;

/** Replaces the runtime's default health check, which fails when the event loop was busy for 42 ms (facts/knative.md §3.2). */
export const liveness = (): string => 'ok';
export const readiness = (): string => 'ok';
