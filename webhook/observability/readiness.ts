import { systemClock, within, type Clock } from '../../functions/runtime/clock.ts';
import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';

export interface ReadinessOptions {
  readonly cluster: Cluster;
  /** What stands in the way without asking anybody: the certificate, the process's end. */
  readonly problem: () => string | undefined;
  /** How long the API server may take, milliseconds. */
  readonly withinMs?: number;
  readonly clock?: Clock;
}

/** Less than the review's own deadline: who needs longer than this would refuse everything anyway. */
const WITHIN_MS = 2_000;
/** Whoever asks more often (anybody in the cluster can) gets the last answer again. */
const FRESH_MS = 500;

/**
 * Whether a review could be decided now: undefined, or why not. Does what a review does, one live GET of a namespace,
 * so it costs nothing while nobody asks.
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

/** Never rejects. */
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
