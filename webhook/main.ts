import { connect } from '../functions/kubernetes/client.ts';
import type { Cluster } from '../functions/kubernetes/cluster.ts';
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
import { listen } from './server.ts';
import { sweep } from './sweep.ts';
import { Watchdog } from './watchdog.ts';

/** The guard: admission while a namespace is locked, and the watchdog. Always on. */
async function main(): Promise<void> {
  const settings = readGuardSettings(process.env);
  const log = newLog(settings.LOG_LEVEL, { process: 'guard' });
  const cluster = connect(settings.KUBECONFIG);
  const stopping = new AbortController();
  let leaving = false;

  const rotation = new Rotation(settings, {
    cluster,
    log,
    serve: (certificate) => server.useCertificate(certificate),
    onConfiguration: warnOfStranger(settings.KUBEVIRT_NAMESPACE, log),
  });
  const problem = (): string | undefined => (leaving ? 'it is being stopped' : rotation.problem());
  const server = await listen({
    tlsPort: settings.TLS_PORT,
    port: settings.PORT,
    reviewApp: reviewApp({ review: newReview(cluster, settings), log }),
    healthApp: healthApp({ ready: newReadiness({ cluster, problem }), deadLetters: newDeadLetters(log) }),
  });
  log('info', 'listening', { port: server.port, tlsPort: server.tlsPort });

  // Neither waits for the other: what is locked is repaired whether or not we may be asked.
  const { signal } = stopping;
  const running = Promise.all([rotation.run(signal), startWatchdog({ cluster, settings, log, signal })]);
  const stop = async (): Promise<void> => {
    leaving = true;
    await server.close(settings.SHUTDOWN_DELAY_MS);
    stopping.abort();
    await running;
    process.exit(0);
  };
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => void stop());
}

interface Watching {
  readonly cluster: Cluster;
  readonly settings: GuardSettings;
  readonly log: ReturnType<typeof newLog>;
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
