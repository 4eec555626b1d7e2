import { expose, numberText, type Family, type Sample } from './exposition.ts';
import { METRIC } from './metric-names.ts';

/** What the watchdog sees, without asking anybody. */
export interface Watched {
  readonly lockedNamespaces: number;
  readonly raisedQuotas: number;
  readonly longestLockSeconds: number;
}

/** One review that was answered. */
export interface Reviewed {
  /** Plural, as the request says it: anything. */
  readonly resource: string;
  readonly outcome: ReviewOutcome;
  readonly seconds: number;
}

export type ReviewOutcome = 'allowed' | 'refused' | 'failed';

/** What only the process knows. */
export interface MetricSources {
  readonly deadLetters: () => ReadonlyMap<string, number>;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Bytes. */
  readonly memory: () => number;
}

/** Those that our webhooks send; anybody who reaches the port may name others, which must not become a series each. */
const RESOURCES = ['namespaces', 'pods', 'resourcequotas'];
const OTHER = 'other';
const REVIEW_OUTCOMES: readonly ReviewOutcome[] = ['allowed', 'refused', 'failed'];
const REPAIR_OUTCOMES = ['done', 'none', 'failed'] as const;
/** Upper bounds, seconds; the review's own deadline is 2.5. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** What the guard counts since its start. Every series is there from the start: a rate needs the zero before the one. */
export class Metrics {
  /** By resource, then outcome. */
  readonly #reviews = new Map(
    [...RESOURCES, OTHER].map((resource) => [resource, { allowed: 0, refused: 0, failed: 0 }]),
  );
  /** Not cumulative; the last one is beyond every bound. */
  readonly #buckets: number[] = [...BUCKETS, Infinity].map(() => 0);
  #reviewSeconds = 0;
  readonly #repairs = { done: 0, none: 0, failed: 0 };
  #isReady = false;
  #watched: () => Watched = () => ({ lockedNamespaces: 0, raisedQuotas: 0, longestLockSeconds: 0 });
  readonly #sources: MetricSources;

  constructor(sources: MetricSources) {
    this.#sources = sources;
  }

  /** Counts one review. */
  reviewed({ resource, outcome, seconds }: Reviewed): void {
    const counts = this.#reviews.get(resource) ?? this.#reviews.get(OTHER);
    if (counts !== undefined) counts[outcome] += 1;
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
    const index = bucket === -1 ? BUCKETS.length : bucket;
    this.#buckets[index] = (this.#buckets[index] ?? 0) + 1;
    this.#reviewSeconds += seconds;
  }

  /** The same repair, counted; `repair` says whether anything was put back. */
  repairing<T extends unknown[]>(
    repair: (...about: T) => Promise<boolean>,
  ): (...about: T) => Promise<boolean> {
    return async (...about) => {
      try {
        const isDone = await repair(...about);
        this.#repairs[isDone ? 'done' : 'none'] += 1;
        return isDone;
      } catch (error) {
        this.#repairs.failed += 1;
        throw error;
      }
    };
  }

  /** The same readiness, remembered: a scrape asks the API server nothing. */
  probing(ready: () => Promise<string | undefined>): () => Promise<string | undefined> {
    return async () => {
      const reason = await ready();
      this.#isReady = reason === undefined;
      return reason;
    };
  }

  watching(watched: () => Watched): void {
    this.#watched = watched;
  }

  /** In Prometheus' text format. */
  text(): string {
    const { lockedNamespaces, raisedQuotas, longestLockSeconds } = this.#watched();
    const { deadLetters, startedAt, memory } = this.#sources;
    const letters = [...deadLetters()].map(([type, value]): Sample => ({ labels: { type }, value }));
    return expose([
      { metric: METRIC.reviews, samples: this.#reviewSamples() },
      this.#durations(),
      {
        metric: METRIC.repairs,
        samples: REPAIR_OUTCOMES.map((outcome) => ({ labels: { outcome }, value: this.#repairs[outcome] })),
      },
      { metric: METRIC.deadLetters, samples: letters },
      { metric: METRIC.lockedNamespaces, samples: [{ value: lockedNamespaces }] },
      { metric: METRIC.longestLock, samples: [{ value: longestLockSeconds }] },
      { metric: METRIC.raisedQuotas, samples: [{ value: raisedQuotas }] },
      { metric: METRIC.ready, samples: [{ value: this.#isReady ? 1 : 0 }] },
      { metric: METRIC.startTime, samples: [{ value: startedAt / 1_000 }] },
      { metric: METRIC.memory, samples: [{ value: memory() }] },
    ]);
  }

  #reviewSamples(): Sample[] {
    return [...this.#reviews].flatMap(([resource, counts]) =>
      REVIEW_OUTCOMES.map((outcome) => ({ labels: { resource, outcome }, value: counts[outcome] })),
    );
  }

  #durations(): Family {
    let count = 0;
    const buckets = [...BUCKETS, Infinity].map((bound, index): Sample => {
      count += this.#buckets[index] ?? 0;
      return { suffix: '_bucket', labels: { le: numberText(bound) }, value: count };
    });
    const totals: Sample[] = [
      { suffix: '_sum', value: this.#reviewSeconds },
      { suffix: '_count', value: count },
    ];
    return { metric: METRIC.reviewSeconds, samples: [...buckets, ...totals] };
  }
}
