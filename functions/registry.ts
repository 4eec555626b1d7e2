import { newFunction, type Handle } from './host/function.ts';
import { newStepContext } from './host/step-context.ts';
import { MAX_KEPT_BYTES } from './kubernetes/api-server.ts';
import type { ApiServer } from './kubernetes/cluster.ts';
import type { Log } from './runtime/log.ts';
import { LIVE, type Settings } from './runtime/settings.ts';
import { STEPS } from './steps.ts';

export interface ProcessParts {
  readonly cluster: ApiServer;
  readonly settings: Settings;
  readonly log: Log;
}

/** What one process serves. */
export interface Served {
  readonly handle: Handle;
  /** Names of the steps, for the log. */
  readonly names: readonly string[];
  /** Resolves when all background work is done. */
  readonly drain: () => Promise<void>;
}

/** The function of STEP; without it all steps of the default installation. `live` is of an optional component, and no other process loads it. */
export async function functionFor({ cluster, settings, log }: ProcessParts): Promise<Served> {
  const { context, drain } = newStepContext({ cluster, settings, log });
  if (settings.STEP === LIVE) {
    const { newLiveFunction, refusingOwnPods, Remotes } = await import('./live/function.ts');
    const handle = newLiveFunction({
      hub: cluster,
      // Nothing that a tenant writes leads to what listens on the machine itself.
      remotes: new Remotes({
        allowLoopback: settings.LIVE_MIGRATION === 'loopback',
        isRefused: refusingOwnPods(cluster, settings.PROVIDER_NETWORKS),
        maxKeptBytes: MAX_KEPT_BYTES,
        memoryBytes: MAX_KEPT_BYTES,
        ...{ clock: context.clock, log },
      }),
      ...{ clock: context.clock, log, post: context.post },
      maxVmsInFlight: settings.LIVE_VMS,
    });
    return { handle, names: [LIVE], drain };
  }
  const steps = STEPS.filter(({ name }) => settings.STEP === undefined || name === settings.STEP);
  return { handle: newFunction(steps, context), names: steps.map(({ name }) => name), drain };
}
