import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '../runtime/clock.ts';
import { KeyedSerializer } from '../runtime/keyed-serializer.ts';
import { newExclusively } from './exclusive.ts';
import { newFirstTimes } from './first-times.ts';
import { newLaterSteps } from './later-steps.ts';
import { postEvent, silentAmong } from '../eventing/post.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { describeError } from '../kubernetes/errors.ts';
import type { Log } from '../runtime/log.ts';
import type { Settings } from '../runtime/settings.ts';
import { readMaintenance, readView } from '../cluster/view.ts';
import type { StepContext } from './step.ts';

/** How long `lock` waits for the later steps, milliseconds: most of a cold start, and short enough for its deadline. */
const LATER_STEPS_MS = 3_000;

export interface StepRuntime {
  readonly context: StepContext;
  /** Resolves when all background work is done. */
  readonly drain: () => Promise<void>;
}

export interface StepContextOptions {
  readonly cluster: Cluster;
  readonly settings: StepContext['settings'] &
    Pick<Settings, 'K_SINK'> &
    Partial<Pick<Settings, 'K_SINK_TOKEN' | 'VIEW_URL' | 'WAKE_URLS'>>;
  readonly log: Log;
}

/** The context of a real process: the only place that gives steps the clock, randomness, the Broker and background work. */
export function newStepContext({ cluster, settings, log }: StepContextOptions): StepRuntime {
  const underWay = new Set<Promise<void>>();
  const inBackground = (work: () => Promise<void>): void => {
    // The step's reply is sent first: a report must not compete with the next step.
    const done = nextTurn()
      .then(work)
      .catch((error: unknown) => log('warn', `a report failed: ${describeError(error)}`))
      .finally(() => underWay.delete(done));
    underWay.add(done);
  };
  const context: StepContext = {
    cluster,
    clock: systemClock,
    settings,
    log,
    newToken: randomUUID,
    inBackground,
    post: async (event) => {
      if (settings.K_SINK === undefined) throw new Error('K_SINK is not set');
      await postEvent({ url: settings.K_SINK, tokenFile: settings.K_SINK_TOKEN }, event);
    },
    silentSteps: newLaterSteps(() => silentAmong(settings.WAKE_URLS ?? [], LATER_STEPS_MS), systemClock),
    view: async (namespace) =>
      settings.VIEW_URL === undefined ? undefined : readView(settings.VIEW_URL, namespace),
    maintenance: async (subject) =>
      settings.VIEW_URL === undefined ? undefined : readMaintenance(settings.VIEW_URL, subject),
    ...newFirstTimes(systemClock),
    exclusively: newExclusively(),
    looks: new KeyedSerializer(systemClock),
  };
  return {
    context,
    drain: async () => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
