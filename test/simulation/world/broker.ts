import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Answer, Handle } from '../../../functions/host/function.ts';
import type { Step } from '../../../functions/host/step.ts';
import { STEPS } from '../../../functions/steps.ts';
import { deliveryPolicy, isRetried } from '../../cluster/eventing/delivery.ts';
import type { Trigger } from '../../cluster/eventing/manifests.ts';
import { EVENT_FAULTS, type Faults } from './faults.ts';
import type { Schedule } from '../engine/schedule.ts';
import type { Trace } from '../engine/trace.ts';

/** A CloudEvent under way. */
export type Event = NonNullable<Parameters<Handle>[1]>;

/** An answer, or a broken connection. */
export type Reply = Answer | 'broken';

export interface BrokerParts {
  readonly schedule: Schedule;
  readonly faults: Faults;
  readonly trace: Trace;
  /** From an event to its first delivery, milliseconds. */
  readonly hopMs: number;
  /** Hands the event to a function; resolves when it has answered or died. */
  readonly invoke: (step: Step, event: Event) => Promise<Reply>;
}

const manifest = readFileSync(new URL('../../../config/eventing/delivery.yaml', import.meta.url), 'utf8');
const { spec } = parse(manifest) as { spec: Pick<Trigger['spec'], 'delivery'> };
const POLICY = deliveryPolicy(spec.delivery, undefined);
/** As config/eventing/kustomization.yaml patches it. */
const FEASIBILITY_TIMEOUT_MS = 15_000;
const MAX_LATE_MS = 20_000;

/** Broker and Triggers: delivers each event to the subscribed steps, in any order, and retries after a failure. */
export class Broker {
  isDown = false;
  /** Deliveries that are not finished. */
  underWay = 0;
  readonly #parts: BrokerParts;

  constructor(parts: BrokerParts) {
    this.#parts = parts;
  }

  /** Delivers the event to every Trigger whose filter matches it. */
  publish(event: Event): void {
    if (this.isDown) return;
    for (const step of STEPS.filter(({ triggers }) => triggers.some((filter) => matches(filter, event)))) {
      this.#send(step, event);
    }
  }

  #send(step: Step, event: Event): void {
    const { schedule, faults, trace, hopMs } = this.#parts;
    const injected = faults.inject(`event to ${step.name}`, EVENT_FAULTS);
    if (injected !== undefined) trace.log('broker', () => `${injected.fault}: ${event.type} to ${step.name}`);
    if (injected?.fault === 'drop') return;
    const late = injected?.fault === 'late' ? faults.particulars(injected).below(MAX_LATE_MS) : 0;
    const copies = injected?.fault === 'duplicate' ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      this.underWay += 1;
      schedule.later(`event to ${step.name}`, hopMs + late, () => void this.#deliver(step, event, 0));
    }
  }

  async #deliver(step: Step, event: Event, attempt: number): Promise<void> {
    const { schedule, invoke, trace } = this.#parts;
    const reply = await Promise.race([invoke(step, event), this.#timeout(step)]);
    if (reply === undefined || (typeof reply === 'object' && 'specversion' in reply)) {
      this.underWay -= 1;
      if (reply !== undefined) this.publish(reply);
      return;
    }
    const isFinal = reply !== 'broken' && !isRetried(reply.statusCode);
    if (isFinal || attempt >= POLICY.retries || this.isDown) {
      trace.log('broker', () => `dead letter: ${event.type} to ${step.name}`);
      this.underWay -= 1;
      return;
    }
    schedule.later(
      `retry to ${step.name}`,
      POLICY.backoffMs(attempt),
      () => void this.#deliver(step, event, attempt + 1),
    );
  }

  #timeout(step: Step): Promise<'broken'> {
    const ms = step.name === 'feasibility' ? FEASIBILITY_TIMEOUT_MS : (POLICY.timeoutMs ?? Infinity);
    return new Promise((resolve) => this.#parts.schedule.time.after(ms, () => resolve('broken')));
  }
}

const matches = ({ type, kind }: Step['triggers'][number], event: Event): boolean =>
  type === event.type && (kind === undefined || kind === event['kind']);
