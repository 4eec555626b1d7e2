import type { RequestListener } from 'node:http';
import { reachApiServer } from '../functions/kubernetes/api-server.ts';
import type { ApiServer } from '../functions/kubernetes/cluster.ts';
import { describeError } from '../functions/kubernetes/errors.ts';
import { newLog } from '../functions/runtime/log.ts';
import { readGuardSettings, type GuardSettings } from '../functions/runtime/settings.ts';
import { newTools } from '../functions/host/tools.ts';
import { newDeadLetters, type DeadLetters } from './observability/dead-letter.ts';
import { healthApp } from './observability/health-app.ts';
import { warnOfStranger } from './observability/installed.ts';
import { newReview } from './admission/live-review.ts';
import { Metrics } from './observability/metrics.ts';
import { newReadiness } from './observability/readiness.ts';
import { repair } from './watchdog/repair.ts';
import { reviewApp } from './admission/review-app.ts';
import { Rotation } from './tls/rotation.ts';
import { listen, listenForHealth, type GuardServer } from './admission/server.ts';
import { SurroundingsCheck } from './observability/surroundings.ts';
import { ClusterView } from './view/cluster-view.ts';
import { Turns } from './view/turns.ts';
import { Watches } from './view/watches.ts';
import type { ViewSource } from './view/view-route.ts';
import { sweep, type SeenObjects } from './watchdog/sweep.ts';
import { Watchdog } from './watchdog/watchdog.ts';

/** The guard: admission while a namespace is locked, and the watchdog. Always on. */
async function main(): Promise<void> {
  const settings = readGuardSettings(process.env);
  const log = newLog(settings.LOG_LEVEL, { process: 'guard' });
  const cluster = await reachApiServer(settings);
  const deadLetters = newDeadLetters(log);
  const metrics = new Metrics(() => deadLetters.counts());
  const view = new ClusterView(cluster);
  const watching: { watches?: Watches } = {};
  const source: ViewSource = {
    viewOf: (namespace) => (watching.watches?.isReady === true ? view.viewOf(namespace) : undefined),
  };
  const guard: Process = { cluster, settings, log, deadLetters, metrics, view, source, watching };
  const stopping = new AbortController();
  const { signal } = stopping;
  let leaving = false;

  const surroundings = new SurroundingsCheck(settings, { cluster, log });
  const serve = settings.ADMISSION === 'webhook' ? serveReviews : serveHealth;
  const problem = (): string | undefined => (leaving ? LEAVING : surroundings.problem());
  const { server, rotate } = await serve(guard, problem);
  log('info', 'listening', { port: server.port, tlsPort: server.tlsPort });

  // None waits for another: what is locked is repaired whether or not we may be asked.
  const running = Promise.all([surroundings.run(signal), rotate?.(signal), startWatchdog(guard, signal)]);
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
  readonly deadLetters: DeadLetters;
  readonly metrics: Metrics;
  readonly view: ClusterView;
  readonly source: ViewSource;
  /** Set once they run. */
  readonly watching: { watches?: Watches };
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
async function serveReviews(guard: Process, known: Problem): Promise<Serving> {
  const { cluster, settings, log, metrics } = guard;
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
    reviewApp: reviewApp({
      review: newReview(cluster, settings, (namespace) => guard.view.incumbentFor(namespace)),
      log,
      onReviewed: (reviewed) => metrics.reviewed(reviewed),
    }),
    healthApp: newHealth(guard, problem),
  });
  return { server, rotate: (signal) => rotation.run(signal) };
}

/** The API server judges by itself (policies): no certificate, no bundle, nobody to answer. */
async function serveHealth(guard: Process, problem: Problem): Promise<Serving> {
  return { server: await listenForHealth(newHealth(guard, problem), guard.settings.PORT) };
}

const newHealth = ({ cluster, deadLetters, metrics, source }: Process, problem: Problem): RequestListener =>
  healthApp({
    ready: metrics.probing(newReadiness({ cluster, problem })),
    deadLetters,
    view: source,
    metrics: metrics.registry,
  });

/** Resolves when it has stopped and its reports are written. */
async function startWatchdog(guard: Process, signal: AbortSignal): Promise<void> {
  const { cluster, settings, log, metrics } = guard;
  // The watchdog never locks, raises or wakes: what those need is off.
  const equipment = { ...settings, SETTLE_MS: 0, WAKE_URLS: [] };
  const { tools, settle } = newTools({ cluster, settings: equipment, log });
  const { post, clock } = tools;
  const mend = metrics.repairing((namespace: string, token: string | undefined) =>
    repair(namespace, token, tools),
  );
  const { view, watching } = guard;
  const turns = new Turns({
    ...{ clock, log, post },
    state: () => (watching.watches?.isReady === true ? view.state() : undefined),
  });
  const watchdog = new Watchdog(settings, {
    ...{ cluster, clock, log, post, repair: mend },
    onLock: (namespace) => view.takeLock(namespace),
    onUnlocked: (name) => {
      view.held.delete(name);
      turns.freed();
    },
  });
  metrics.watching(() => watchdog.watched());
  const watches = new Watches(view, {
    ...{ cluster, clock, log, kubevirtNamespace: settings.KUBEVIRT_NAMESPACE },
    onEnded: (uid) => {
      watchdog.migrationEnded(uid);
      turns.freed();
    },
  });
  watching.watches = watches;
  const seen = (): SeenObjects | undefined =>
    watches.isReady
      ? { vmmrqs: [...view.vmmrqs.values()], migrations: [...view.migrations.values()] }
      : undefined;
  const { SWEEP_SECONDS: seconds } = settings;
  await Promise.all([
    watchdog.run(signal),
    watches.run(signal),
    sweep(seconds, { cluster, clock, log, post, repair: mend, seen, random: Math.random }, signal),
  ]);
  turns.stop();
  await settle();
}

main().catch((error: unknown) => {
  process.stderr.write(`cannot start: ${describeError(error)}\n`);
  process.exit(1);
});
