import Counter from 'prom-client/lib/counter.js';
import Gauge from 'prom-client/lib/gauge.js';
import Histogram from 'prom-client/lib/histogram.js';
import Registry from 'prom-client/lib/registry.js';
import { MAINTENANCE_KINDS } from '../../functions/domain/progress/progress-object.ts';
import { METRIC, type Metric } from './metric-names.ts';

/** The watchdog's state, from memory. */
export interface Watched {
  readonly lockedNamespaces: number;
  readonly raisedQuotas: number;
  readonly longestLockSeconds: number;
}

/** An answered review. */
export interface Reviewed {
  /** The plural from the request; a client may send any text. */
  readonly resource: string;
  readonly outcome: ReviewOutcome;
  readonly seconds: number;
}

export type ReviewOutcome = 'allowed' | 'refused' | 'failed';

/** The resources in our webhooks' rules. Any client of the port may send others; those share one series. */
const RESOURCES = ['namespaces', 'pods', 'resourceclaims', 'resourcequotas'];
const OTHER = 'other';
const REVIEW_OUTCOMES: readonly ReviewOutcome[] = ['allowed', 'refused', 'failed'];
const REPAIR_OUTCOMES = ['done', 'none', 'failed'] as const;
/** Upper bounds, seconds; the review's own deadline is 2.5. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** The guard's counters since its start. Every series exists from the start: a rate needs the zero before the first one. */
export class Metrics {
  /** The guard's own registry, because the whole process shares prom-client's default one. */
  readonly registry = new Registry();
  readonly #reviews = new Counter({
    ...METRIC.reviews,
    labelNames: ['resource', 'outcome'],
    registers: [this.registry],
  });
  readonly #reviewSeconds = new Histogram({
    ...METRIC.reviewSeconds,
    buckets: BUCKETS,
    registers: [this.registry],
  });
  readonly #repairs = new Counter({ ...METRIC.repairs, labelNames: ['outcome'], registers: [this.registry] });
  #isReady = false;
  #underWay: () => number = () => 0;
  #blocked: () => ReadonlyMap<string, number> = () => new Map();
  #watched: () => Watched = () => ({ lockedNamespaces: 0, raisedQuotas: 0, longestLockSeconds: 0 });

  /** `deadLetters` returns the number of dead letters since the start, by event type. */
  constructor(deadLetters: () => ReadonlyMap<string, number>) {
    for (const resource of [...RESOURCES, OTHER]) {
      for (const outcome of REVIEW_OUTCOMES) this.#reviews.inc({ resource, outcome }, 0);
    }
    for (const outcome of REPAIR_OUTCOMES) this.#repairs.inc({ outcome }, 0);
    new Counter({
      ...METRIC.deadLetters,
      labelNames: ['type'],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [type, count] of deadLetters()) this.inc({ type }, count);
      },
    });
    this.#gauge(METRIC.lockedNamespaces, () => this.#watched().lockedNamespaces);
    this.#gauge(METRIC.longestLock, () => this.#watched().longestLockSeconds);
    this.#gauge(METRIC.raisedQuotas, () => this.#watched().raisedQuotas);
    const blocked = (): ReadonlyMap<string, number> => this.#blocked();
    new Gauge({
      ...METRIC.maintenanceBlocked,
      labelNames: ['kind'],
      registers: [this.registry],
      collect() {
        for (const kind of MAINTENANCE_KINDS) this.set({ kind }, blocked().get(kind) ?? 0);
      },
    });
    this.#gauge(METRIC.liveMigrations, () => this.#underWay());
    this.#gauge(METRIC.ready, () => (this.#isReady ? 1 : 0));
    this.#gauge(METRIC.startTime, () => performance.timeOrigin / 1_000);
    this.#gauge(METRIC.memory, () => process.memoryUsage.rss());
  }

  /** Counts one review. */
  reviewed({ resource, outcome, seconds }: Reviewed): void {
    this.#reviews.inc({ resource: RESOURCES.includes(resource) ? resource : OTHER, outcome });
    this.#reviewSeconds.observe(seconds);
  }

  /** Wraps `repair` with a counter; `repair` resolves with whether it restored anything. */
  repairing<T extends unknown[]>(
    repair: (...about: T) => Promise<boolean>,
  ): (...about: T) => Promise<boolean> {
    return async (...about) => {
      try {
        const isDone = await repair(...about);
        this.#repairs.inc({ outcome: isDone ? 'done' : 'none' });
        return isDone;
      } catch (error) {
        this.#repairs.inc({ outcome: 'failed' });
        throw error;
      }
    };
  }

  /** Wraps `ready` and keeps its last result, so that a scrape sends no request to the API server. */
  probing(ready: () => Promise<string | undefined>): () => Promise<string | undefined> {
    return async () => {
      const reason = await ready();
      this.#isReady = reason === undefined;
      return reason;
    };
  }

  /** Sets `underWay`, which counts the Migrations that have started, and have not ended. */
  moving(underWay: () => number): void {
    this.#underWay = underWay;
  }

  /** Sets `blocked`, which counts the VMs that are blocked, by kind of maintenance. */
  maintaining(blocked: () => ReadonlyMap<string, number>): void {
    this.#blocked = blocked;
  }

  watching(watched: () => Watched): void {
    this.#watched = watched;
  }

  /** Registers a gauge; reads `value` at each scrape. */
  #gauge(metric: Metric, value: () => number): void {
    new Gauge({
      ...metric,
      registers: [this.registry],
      collect() {
        this.set(value());
      },
    });
  }
}
