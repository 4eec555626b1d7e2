import { serve as serveExample } from '../../../examples/serve.ts';
import { newFunction } from '../../../functions/host/function.ts';
import { EVENT_MS, newListener } from '../../../functions/host/server.ts';
import { Unreachable } from '../../../functions/kubernetes/errors.ts';
import type { LiveContext } from '../../../functions/live/context.ts';
import { newLiveFunction } from '../../../functions/live/function.ts';
import { systemClock } from '../../../functions/runtime/clock.ts';
import { FairTurns } from '../../../functions/server/fair-turns.ts';
import { serve } from '../../../functions/server/serve.ts';
import { STEPS } from '../../../functions/steps.ts';
import { listenForHealth } from '../../../webhook/admission/server.ts';
import { newDeadLetters } from '../../../webhook/observability/dead-letter.ts';
import { healthApp } from '../../../webhook/observability/health-app.ts';
import { NOTHING, onlyLog } from '../environment/function-host.ts';

/** A port of this project that any pod can reach. */
export interface Port {
  readonly port: number;
  /** Names that came through the door. */
  readonly asked: readonly string[];
  readonly close: () => Promise<void>;
}

const noLog = (): void => undefined;
const NAMES = /^(?:[a-z0-9.-]+)?$/;

/** Whether the text may be a part of an API path. */
export const isName = (text: string): boolean => NAMES.test(text) && !text.includes('..') && text !== '.';

/** The guard's port for health, with views of an empty cluster. */
async function openGuard(): Promise<Port> {
  const asked: string[] = [];
  const app = healthApp({
    ready: () => undefined,
    deadLetters: newDeadLetters(noLog),
    turns: new FairTurns(),
    view: { viewOf: (namespace) => void asked.push(namespace) },
    maintenance: { maintenanceOf: (subject) => void asked.push(subject.node ?? '') },
  });
  return { ...(await listenForHealth(app, 0)), asked };
}

/** All steps of a cycle, but for their work. */
async function openSteps(): Promise<Port> {
  const asked: string[] = [];
  const steps = STEPS.map((step) => ({
    ...step,
    handle: ({ namespace, quotas = [], vmmrqs = [], vmis = [] }: Parameters<typeof step.handle>[0]) => {
      asked.push(namespace, ...quotas, ...vmmrqs, ...vmis);
      return Promise.resolve(NOTHING);
    },
  }));
  const listener = newListener(newFunction(steps, onlyLog(noLog)), noLog);
  return { ...(await serve({ listener, port: 0, requestMs: EVENT_MS })), asked };
}

/** `live`, whose cluster does not answer. */
async function openLive(): Promise<Port> {
  const asked: string[] = [];
  const unreachable = (_type: unknown, at: { namespace?: string; name?: string } = {}): Promise<never> => {
    asked.push(at.namespace ?? '', at.name ?? '');
    return Promise.reject(new Unreachable('no answer'));
  };
  const hub = { get: unreachable, list: unreachable, replace: unreachable, create: unreachable };
  const context = { hub, clock: systemClock, log: noLog } as unknown as LiveContext;
  const listener = newListener(newLiveFunction(context), noLog);
  return { ...(await serve({ listener, port: 0, requestMs: EVENT_MS })), asked };
}

/** An example, but for its work. */
const openExample = async (): Promise<Port> => ({
  ...(await serveExample(() => Promise.resolve(undefined), 0)),
  asked: [],
});

export const PORTS = [
  ['the guard', openGuard],
  ['the steps', openSteps],
  ['live', openLive],
  ['an example', openExample],
] as const satisfies readonly (readonly [string, () => Promise<Port>])[];
