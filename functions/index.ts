import { newFunction, type Handle } from './host/function.ts';
import { reachApiServer } from './kubernetes/api-server.ts';
import { newLog } from './runtime/log.ts';
import { readSettings } from './runtime/settings.ts';
import { STEPS } from './steps.ts';
import { newStepContext } from './host/step-context.ts';

const settings = readSettings(process.env);
const log = newLog(settings.LOG_LEVEL, { process: settings.STEP ?? 'functions' });
const { context } = newStepContext({ cluster: await reachApiServer(settings), settings, log });
const steps = STEPS.filter(({ name }) => settings.STEP === undefined || name === settings.STEP);

/** The steps as a plain Knative function, for `func` and faas-js-runtime: one process, one `handle`. */
export const handle: Handle = newFunction(steps, context);

/** Replaces the runtime's default health check, which fails when the event loop was busy for 42 ms (facts/knative.md §3.2). */
export const liveness = (): string => 'ok';
export const readiness = (): string => 'ok';
