import { newExclusively } from '../../../functions/host/exclusive.ts';
import { newFirstTimes } from '../../../functions/host/first-times.ts';
import { cloudEventOf } from '../../../functions/eventing/cloud-events.ts';
import { newFunction, type Handle } from '../../../functions/host/function.ts';
import { SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import type { View } from '../../../functions/domain/view.ts';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import type { Step, StepContext } from '../../../functions/host/step.ts';
import { KeyedSerializer } from '../../../functions/runtime/keyed-serializer.ts';
import type { Event, Reply } from './broker.ts';
import { Client, type Network } from './client.ts';
import { Life } from '../engine/life.ts';

export interface ProcessParts {
  readonly network: Network;
  readonly settings: StepContext['settings'];
  readonly newToken: () => string;
  /** Posts to the Broker's ingress; throws when it is away. */
  readonly publish: (event: Event) => void;
  /** The functions that do not answer this process. */
  readonly silentFunctions: (actor: string) => readonly string[];
  /** The answer of a running guard; undefined: none runs. */
  readonly view: (namespace: string) => View | undefined;
}

/** The dependencies of one process, for its lifetime. */
export function contextOf(
  { network, settings, newToken, publish, view, silentFunctions }: ProcessParts,
  { actor, site, user, life }: { actor: string; site: string; user: string; life: Life },
): StepContext {
  const { schedule, trace } = network;
  return {
    cluster: new Client({ actor, site, user, life }, network),
    clock: schedule.time.clockOf(life),
    settings,
    newToken,
    log: (level, message) => {
      if (level !== 'debug') trace.log(actor, () => `says: ${message}`);
    },
    post: (event) =>
      new Promise((resolve, reject) => {
        if (!life.isAlive) return;
        schedule.suspend(actor, () => {
          if (!life.isAlive) return;
          try {
            trace.log(actor, () => `posts ${event.type}`);
            publish(cloudEventOf(event));
            resolve();
          } catch (error) {
            reject(error instanceof Error ? error : new Error('unknown'));
          }
        });
      }),
    silentSteps: () => Promise.resolve(silentFunctions(actor)),
    view: (namespace) =>
      new Promise((resolve) => {
        schedule.suspend(actor, () => resolve(life.isAlive ? view(namespace) : undefined));
      }),
    maintenance: () => Promise.resolve(undefined),
    ...newFirstTimes({ elapsed: () => schedule.time.now }),
    exclusively: newExclusively(),
    looks: new KeyedSerializer(schedule.time.clockOf(life)),
    inBackground: (work) => {
      work().catch((error: unknown) => trace.log(actor, () => `could not report: ${describeError(error)}`));
    },
  };
}

/** The five Knative Services. Warm: one process of each handles all events, and never dies. Else a separate one, which may die, handles each. */
export class Functions {
  readonly #parts: ProcessParts;
  readonly #isWarm: boolean;
  readonly #warm = new Map<string, Handle>();
  #count = 0;

  constructor(parts: ProcessParts, { isWarm }: { readonly isWarm: boolean }) {
    this.#parts = parts;
    this.#isWarm = isWarm;
  }

  invoke(step: Step, event: Event): Promise<Reply> {
    this.#count += 1;
    const actor = `${step.name}-${String(this.#count)}`;
    const life = new Life();
    const { trace } = this.#parts.network;
    trace.log(actor, () => `is triggered by ${event.type} ${nameIn(event)}`);
    const handle = this.#isWarm ? this.#warmHandle(step) : this.#newHandle(step, actor, life);
    return new Promise((resolve) => {
      life.onEnd(() => resolve('broken'));
      void handle({}, event).then((answer) => {
        if (!life.isAlive) return;
        trace.log(actor, () => `answers ${answeredWith(answer)}`);
        resolve(answer);
      });
    });
  }

  #warmHandle(step: Step): Handle {
    const known = this.#warm.get(step.name);
    if (known !== undefined) return known;
    const handle = this.#newHandle(step, `${step.name}-0`, new Life());
    this.#warm.set(step.name, handle);
    return handle;
  }

  #newHandle(step: Step, actor: string, life: Life): Handle {
    const user = userOf(SERVICE_ACCOUNT[step.name]);
    return newFunction([step], contextOf(this.#parts, { actor, site: step.name, user, life }));
  }
}

function answeredWith(answer: Awaited<ReturnType<ReturnType<typeof newFunction>>>): string {
  if (answer === undefined) return 'nothing';
  return 'specversion' in answer ? answer.type : String(answer.statusCode);
}

/** Namespace of the object in an event of the source. */
const nameIn = (event: Event): string => (typeof event['name'] === 'string' ? event['name'] : '');
