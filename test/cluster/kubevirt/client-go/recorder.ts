import type { Clock } from '../../../../functions/runtime/clock.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import type { Cluster } from '../../../../functions/kubernetes/cluster.ts';
import { describeError, isNotFound } from '../../../../functions/kubernetes/errors.ts';
import type { Log } from './cache.ts';
import { Correlator, type Correlated, type NewEvent } from './correlator.ts';
import { COMPONENT } from '../objects/names.ts';
import { RECORDED_EVENTS } from '../objects/objects.ts';
import { toTime } from './times.ts';

/** An event to be written about an object. */
export interface RecordedEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** The controller that records it; left out: that of VMIs and VMIMs. */
  readonly component?: string;
}

export interface RecorderParts {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
}

/** Writes Events as client-go's recorder does: in order, in the background, best effort. */
export class Recorder {
  readonly #parts: RecorderParts;
  readonly #correlator = new Correlator();
  #last: Promise<void> = Promise.resolve();
  #lastNanoseconds = 0n;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
  }

  record(about: KubernetesObject, recordedEvent: RecordedEvent): void {
    const now = this.#parts.clock.now();
    const name = this.#eventName(about.metadata.name, now);
    const correlated = this.#correlator.correlate(
      newEvent(about, recordedEvent, { name, now }),
      now.getTime(),
    );
    this.#last = this.#last.then(() => this.#write(correlated));
  }

  /** Resolves when all that was recorded so far is written. */
  flush(): Promise<void> {
    return this.#last;
  }

  async #write(correlated: Correlated): Promise<void> {
    if (correlated.kind === 'drop') return;
    const { event } = correlated;
    const { cluster, log } = this.#parts;
    try {
      if (correlated.kind === 'create') await cluster.create(RECORDED_EVENTS, event);
      else await this.#count(event);
    } catch (error) {
      log(`event not written: ${describeError(error)}`);
    }
  }

  async #count(event: NewEvent): Promise<void> {
    const { cluster } = this.#parts;
    const { count, message, lastTimestamp } = event;
    try {
      await cluster.patch(RECORDED_EVENTS, event.metadata, { merge: { count, message, lastTimestamp } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await cluster.create(RECORDED_EVENTS, event);
    }
  }

  /** client-go names an event by its object and the nanosecond. */
  #eventName(about: string, now: Date): string {
    const nanoseconds = BigInt(now.getTime()) * 1_000_000n;
    const last = this.#lastNanoseconds;
    this.#lastNanoseconds = nanoseconds > last ? nanoseconds : last + 1n;
    return `${about}.${this.#lastNanoseconds.toString(16)}`;
  }
}

function newEvent(
  { apiVersion, kind, metadata }: KubernetesObject,
  { component = COMPONENT.virtualMachine, ...recordedEvent }: RecordedEvent,
  { name: eventName, now }: { name: string; now: Date },
): NewEvent {
  const at = toTime(now);
  const { name, namespace = 'default', uid, resourceVersion } = metadata;
  return {
    metadata: { name: eventName, namespace },
    involvedObject: {
      ...(kind === undefined ? {} : { kind }),
      ...(apiVersion === undefined ? {} : { apiVersion }),
      namespace,
      name,
      uid,
      resourceVersion,
    },
    ...recordedEvent,
    source: { component },
    reportingComponent: component,
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  };
}
