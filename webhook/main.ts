import type { RequestListener } from 'node:http';
import { postCloudEvent, silentAmong, type ReadyEvent } from '../functions/eventing/post.ts';
import { reachApiServer } from '../functions/kubernetes/api-server.ts';
import type { ApiServer } from '../functions/kubernetes/cluster.ts';
import { describeError } from '../functions/kubernetes/errors.ts';
import { newLog } from '../functions/runtime/log.ts';
import { readGuardSettings, type GuardSettings } from '../functions/runtime/settings.ts';
import { systemClock } from '../functions/runtime/clock.ts';
import { newStepContext } from '../functions/host/step-context.ts';
import type { StepContext } from '../functions/host/step.ts';
import { newDeadLetters, type DeadLetters } from './observability/dead-letter.ts';
import { healthApp } from './observability/health-app.ts';
import { warnOfOtherNamespace } from './observability/installed.ts';
import { newReview } from './dispatch-review.ts';
import { Metrics } from './observability/metrics.ts';
import { newReadiness } from './observability/readiness.ts';
import { repair } from './watchdog/repair.ts';
import { reviewApp } from './admission/review-app.ts';
import { Rotation } from './tls/rotation.ts';
import { ApiServerAddresses } from './admission/api-server-addresses.ts';
import { FairTurns } from '../functions/server/fair-turns.ts';
import { listen, listenForHealth, type GuardServer } from './admission/server.ts';
import { CompatibilityCheck } from './observability/compatibility-check.ts';
import { LiveResync } from './live/live-resync.ts';
import { MaintenanceTracker } from './maintenance/maintenance-tracker.ts';
import { ClusterWatch } from './watchdog/cluster-watch.ts';

/** Runs the guard: admission while a namespace is locked, and the watchdog. It always runs. */
async function main(): Promise<void> {
  const settings = readGuardSettings(process.env);
  const log = newLog(settings.LOG_LEVEL, { process: 'guard' });
  const [cluster, reviewing] = await Promise.all([reachApiServer(settings), reachApiServer(settings)]);
  const deadLetters = newDeadLetters(log);
  const metrics = new Metrics(() => deadLetters.counts());
  const { watch, drain, post } = newClusterWatch({ cluster, settings, log, metrics });
  const maintenance = newMaintenance({ cluster, settings, log, metrics, watch }, post);
  const live =
    settings.LIVE_MIGRATION !== 'off' ? newLiveResync({ cluster, settings, log, metrics }) : undefined;
  // Reviews and readiness wait for no large object of a repair (docs/adr/0020).
  const guard: Process = { cluster: reviewing, settings, log, deadLetters, metrics, watch, maintenance };
  const stopping = new AbortController();
  const { signal } = stopping;
  let leaving = false;

  const compatibility = new CompatibilityCheck(settings, { cluster, log });
  const serve = settings.ADMISSION === 'webhook' ? serveReviews : serveHealth;
  const problem = (): string | undefined => (leaving ? LEAVING : compatibility.problem());
  const { server, keep } = await serve(guard, problem);
  log('info', 'listening', { port: server.port, tlsPort: server.tlsPort });

  // They run side by side: the watchdog must repair locks also while the guard cannot take reviews.
  const running = Promise.all([
    ...[compatibility.run(signal), keep?.(signal), watch.run(signal)],
    ...[maintenance.run(signal), live?.run(signal)],
  ]);
  const stop = async (): Promise<void> => {
    leaving = true;
    await server.close(settings.SHUTDOWN_DELAY_MS);
    stopping.abort();
    await running;
    await drain();
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
  readonly watch: ClusterWatch;
  readonly maintenance: MaintenanceTracker;
}

/** The parts of the process that the others are made of. */
type Parts = Pick<Process, 'cluster' | 'settings' | 'log' | 'metrics'>;

/** Creates the watch; `drain` resolves when its reports are written. */
function newClusterWatch({ cluster, settings, log, metrics }: Parts): {
  readonly watch: ClusterWatch;
  readonly drain: () => Promise<void>;
  readonly post: StepContext['post'];
} {
  // The guard never locks or raises, so it needs no SETTLE_MS.
  const { context, drain } = newStepContext({ cluster, settings: { ...settings, SETTLE_MS: 0 }, log });
  const countedRepair = metrics.repairing((namespace: string, token: string | undefined) =>
    repair(namespace, token, context),
  );
  const { clock, post } = context;
  const watch = new ClusterWatch({
    ...{ cluster, clock, log, post, repair: countedRepair, settings, random: Math.random },
    silentFunctions: (withinMs) => silentAmong(settings.WAKE_URLS, withinMs),
  });
  metrics.watching(() => watch.watched());
  return { watch, drain, post };
}

/** Creates the tracker of drains and upgrades: the source of what `progress` reads, and the trigger of its runs. */
function newMaintenance(
  { cluster, settings, log, metrics, watch }: Parts & Pick<Process, 'watch'>,
  post: StepContext['post'],
): MaintenanceTracker {
  const tracker = new MaintenanceTracker({
    ...{ cluster, log, post, clock: systemClock, kubevirtNamespace: settings.KUBEVIRT_NAMESPACE },
    view: () => watch.cluster(),
  });
  metrics.maintaining(() => tracker.blocked());
  return tracker;
}

/** Triggers `live` where events may have been lost. */
function newLiveResync({ cluster, settings, log, metrics }: Parts): LiveResync {
  const sink = { url: settings.K_SINK ?? '', tokenFile: settings.K_SINK_TOKEN };
  const post = (event: ReadyEvent): Promise<void> => postCloudEvent(sink, event);
  const resync = new LiveResync({ cluster, log, clock: systemClock, post });
  metrics.moving(() => resync.underWay());
  return resync;
}

interface Serving {
  readonly server: Pick<GuardServer, 'port' | 'close'> & Partial<Pick<GuardServer, 'tlsPort'>>;
  /** Keeps our certificate, the webhooks' CA bundle and the API servers' addresses up to date until the signal aborts. */
  readonly keep?: (signal: AbortSignal) => Promise<void>;
}

/** The reason why the guard is not ready, in both admission modes. */
type NotReadyReason = () => string | undefined;

const LEAVING = 'it is being stopped';

/** Serves reviews over TLS; ready once the webhooks trust our certificate. */
async function serveReviews(guard: Process, known: NotReadyReason): Promise<Serving> {
  const { cluster, settings, log, metrics } = guard;
  const apiServers = new ApiServerAddresses(cluster, log);
  const turns = new FairTurns({ isFirst: apiServers.has });
  const rotation = new Rotation(settings, {
    cluster,
    log,
    serve: (certificate) => server.useCertificate(certificate),
    onConfiguration: warnOfOtherNamespace(settings.KUBEVIRT_NAMESPACE, log),
  });
  const problem = (): string | undefined => known() ?? rotation.problem();
  const server = await listen({
    tlsPort: settings.TLS_PORT,
    port: settings.PORT,
    clientCa: settings.REVIEW_CLIENT_CA,
    reviewApp: reviewApp({
      review: newReview(cluster, settings, (namespace) => guard.watch.incumbentFor(namespace), apiServers),
      ...{ log, turns },
      onReviewed: (reviewed) => metrics.reviewed(reviewed),
    }),
    healthApp: newHealth(guard, { problem, turns }),
  });
  const keep = async (signal: AbortSignal): Promise<void> => {
    await Promise.all([rotation.run(signal), apiServers.run(signal)]);
  };
  return { server, keep };
}

/**
 * Serves only health. In admission mode `policy` the API server decides alone, so the guard needs no certificate, no bundle and no
 * review port.
 */
async function serveHealth(guard: Process, problem: NotReadyReason): Promise<Serving> {
  const healthApp = newHealth(guard, { problem, turns: new FairTurns() });
  return { server: await listenForHealth(healthApp, guard.settings.PORT) };
}

const newHealth = (
  { cluster, deadLetters, metrics, watch, maintenance }: Process,
  { problem, turns }: { readonly problem: NotReadyReason; readonly turns: FairTurns },
): RequestListener =>
  healthApp({
    ready: metrics.probing(newReadiness({ cluster, problem })),
    ...{ deadLetters, turns },
    view: watch,
    maintenance,
    metrics: metrics.registry,
  });

main().catch((error: unknown) => {
  process.stderr.write(`cannot start: ${describeError(error)}\n`);
  process.exit(1);
});
