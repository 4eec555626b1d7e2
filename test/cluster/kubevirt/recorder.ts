import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { describeError, isNotFound } from '../../../functions/kubernetes/errors.ts';
import type { Log } from './cache.ts';
import { Correlator, type Correlated, type NewEvent } from './correlator.ts';
import { COMPONENT } from './names.ts';
import { RECORDED_EVENTS } from './objects.ts';
import { toTime } from './times.ts';

/** An event to be written about an object. */
export interface Happening {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Writes Events as client-go's recorder does: in order, in the background, best effort. */
export class Recorder {
  readonly #cluster: Cluster;
  readonly #log: Log;
  readonly #correlator = new Correlator();
  #last: Promise<void> = Promise.resolve();

  constructor(cluster: Cluster, log: Log) {
    this.#cluster = cluster;
    this.#log = log;
  }

  record(about: KubernetesObject, happening: Happening): void {
    const correlated = this.#correlator.correlate(newEvent(about, happening), Date.now());
    this.#last = this.#last.then(() => this.#write(correlated));
  }

  /** Resolves when all that was recorded so far is written. */
  flush(): Promise<void> {
    return this.#last;
  }

  async #write(correlated: Correlated): Promise<void> {
    if (correlated.kind === 'drop') return;
    const { event } = correlated;
    try {
      if (correlated.kind === 'create') await this.#cluster.create(RECORDED_EVENTS, event);
      else await this.#count(event);
    } catch (error) {
      this.#log(`event not written: ${describeError(error)}`);
    }
  }

  async #count(event: NewEvent): Promise<void> {
    const { count, message, lastTimestamp } = event;
    try {
      await this.#cluster.patch(RECORDED_EVENTS, event.metadata, {
        merge: { count, message, lastTimestamp },
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#cluster.create(RECORDED_EVENTS, event);
    }
  }
}

let lastNanoseconds = 0n;

/** client-go names an event by its object and the nanosecond. */
function eventName(name: string): string {
  const now = BigInt(Date.now()) * 1_000_000n;
  lastNanoseconds = now > lastNanoseconds ? now : lastNanoseconds + 1n;
  return `${name}.${lastNanoseconds.toString(16)}`;
}

function newEvent({ apiVersion, kind, metadata }: KubernetesObject, happening: Happening): NewEvent {
  const now = toTime(new Date());
  const { name, namespace = 'default', uid, resourceVersion } = metadata;
  return {
    metadata: { name: eventName(name), namespace },
    involvedObject: {
      ...(kind === undefined ? {} : { kind }),
      ...(apiVersion === undefined ? {} : { apiVersion }),
      namespace,
      name,
      uid,
      resourceVersion,
    },
    ...happening,
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
}
