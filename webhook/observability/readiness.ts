import { systemClock, within, type Clock } from '../../functions/runtime/clock.ts';
import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';

export interface ReadinessOptions {
  readonly cluster: Cluster;
  /** A known problem, found without a request: the certificate, or the process is ending. */
  readonly problem: () => string | undefined;
  /** The timeout for the API server, in milliseconds. */
  readonly withinMs?: number;
  readonly clock?: Clock;
}

/** Timeout of a probe, less than the review's own deadline: a slower replica would refuse every request anyway. */
const WITHIN_MS = 2_000;
/** Milliseconds for which each further probe gets the last answer again, because any pod in the cluster can probe. */
const FRESH_MS = 500;

/**
 * Whether the guard could decide a review now: undefined, or the reason why not. It makes the same request as a review, one
 * live GET of a namespace, and only on a probe.
 */
export function newReadiness({
  cluster,
  problem,
  withinMs = WITHIN_MS,
  clock = systemClock,
}: ReadinessOptions): () => Promise<string | undefined> {
  let askedAt = -Infinity;
  let answer: Promise<string | undefined> = Promise.resolve(undefined);
  return async () => {
    const known = problem();
    if (known !== undefined) return known;
    if (clock.elapsed() - askedAt > FRESH_MS) {
      askedAt = clock.elapsed();
      answer = within(clock, withinMs, (late) => reach(cluster, late));
    }
    return answer;
  };
}

/** Reads a namespace; returns the error as a text, and never rejects. */
async function reach(cluster: Cluster, late: AbortSignal): Promise<string | undefined> {
  const tooLate = new Promise<string>((resolve) => {
    late.addEventListener('abort', () => resolve('the API server does not answer in time'), { once: true });
  });
  const read = cluster.get(NAMESPACES, { name: SYSTEM_NAMESPACE }).then(
    () => undefined,
    (error: unknown) => `no namespace can be read: ${describeError(error)}`,
  );
  return Promise.race([read, tooLate]);
}
