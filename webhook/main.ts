import { reachApiServer } from '../functions/kubernetes/api-server.ts';
import type { ApiServer } from '../functions/kubernetes/cluster.ts';
import { describeError } from '../functions/kubernetes/errors.ts';
import { newLog } from '../functions/log.ts';
import { readGuardSettings, type GuardSettings } from '../functions/settings.ts';
import { newTools } from '../functions/tools.ts';
import { newDeadLetters } from './dead-letter.ts';
import { healthApp } from './health-app.ts';
import { warnOfStranger } from './installed.ts';
import { newReview } from './live-review.ts';
import { newReadiness } from './readiness.ts';
import { repair } from './repair.ts';
import { reviewApp } from './review-app.ts';
import { Rotation } from './rotation.ts';
import { listen, listenForHealth, type GuardServer } from './server.ts';
import { SurroundingsCheck } from './surroundings.ts';
import { sweep } from './sweep.ts';
import { Watchdog } from './watchdog.ts';

/** The guard: admission while a namespace is locked, and the watchdog. Always on. */
async function main(): Promise<void> {
  const settings = readGuardSettings(process.env);
  const log = newLog(settings.LOG_LEVEL, { process: 'guard' });
  const cluster = await reachApiServer(settings);
  const stopping = new AbortController();
  const { signal } = stopping;
  let leaving = false;

  const surroundings = new SurroundingsCheck(settings, { cluster, log });
  const serve = settings.ADMISSION === 'webhook' ? serveReviews : serveHealth;
  const problem = (): string | undefined => (leaving ? LEAVING : surroundings.problem());
  const { server, rotate } = await serve({ cluster, settings, log }, problem);
  log('info', 'listening', { port: server.port, tlsPort: server.tlsPort });

  // None waits for another: what is locked is repaired whether or not we may be asked.
  const running = Promise.all([
    surroundings.run(signal),
    rotate?.(signal),
    startWatchdog({ cluster, settings, log, signal }),
  ]);
  const stop = async (): Promise<void> => {
    leaving = true;
    await server.close(settings.SHUTDOWN_DELAY_MS);
    stopping.abort();
    await running;
    process.exit(0);
  };
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => void stop());
}

interface Process {
  readonly cluster: ApiServer;
  readonly settings: GuardSettings;
  readonly log: ReturnType<typeof newLog>;
}

interface Serving {
  readonly server: Pick<GuardServer, 'port' | 'close'> & Partial<Pick<GuardServer, 'tlsPort'>>;
  /** Keeps the API server able to call us, until the signal aborts. */
  readonly rotate?: (signal: AbortSignal) => Promise<void>;
}

/** Why we should not be asked, whatever the way. */
type Problem = () => string | undefined;

const LEAVING = 'it is being stopped';

/** Reviews over TLS; ready once the webhooks trust our certificate. */
async function serveReviews({ cluster, settings, log }: Process, known: Problem): Promise<Serving> {
  const rotation = new Rotation(settings, {
    cluster,
    log,
    serve: (certificate) => server.useCertificate(certificate),
    onConfiguration: warnOfStranger(settings.KUBEVIRT_NAMESPACE, log),
  });
  const problem = (): string | undefined => known() ?? rotation.problem();
  const server = await listen({
    tlsPort: settings.TLS_PORT,
    port: settings.PORT,
    reviewApp: reviewApp({ review: newReview(cluster, settings), log }),
    healthApp: healthApp({ ready: newReadiness({ cluster, problem }), deadLetters: newDeadLetters(log) }),
  });
  return { server, rotate: (signal) => rotation.run(signal) };
}

/** The API server judges by itself (policies): no certificate, no bundle, nobody to answer. */
async function serveHealth({ cluster, settings, log }: Process, problem: Problem): Promise<Serving> {
  const health = healthApp({ ready: newReadiness({ cluster, problem }), deadLetters: newDeadLetters(log) });
  return { server: await listenForHealth(health, settings.PORT) };
}

interface Watching extends Process {
  readonly signal: AbortSignal;
}

/** Resolves when it has stopped and its reports are written. */
async function startWatchdog({ cluster, settings, log, signal }: Watching): Promise<void> {
  // The watchdog never locks, raises or wakes: what those need is off.
  const equipment = { ...settings, SETTLE_MS: 0, WAKE_URLS: [] };
  const { tools, settle } = newTools({ cluster, settings: equipment, log });
  const { post, clock } = tools;
  const mend = (namespace: string, token: string | undefined): Promise<void> =>
    repair(namespace, token, tools);
  const watchdog = new Watchdog(settings, { cluster, clock, log, post, repair: mend });
  await Promise.all([
    watchdog.run(signal),
    sweep(settings.SWEEP_SECONDS, { cluster, clock, log, post, repair: mend, random: Math.random }, signal),
  ]);
  await settle();
}

main().catch((error: unknown) => {
  process.stderr.write(`cannot start: ${describeError(error)}\n`);
  process.exit(1);
});
