import { setTimeout as after } from 'node:timers/promises';
import { SYSTEM_NAMESPACE } from '../functions/domain/names.ts';
import type { Cluster } from '../functions/kubernetes/cluster.ts';
import { describeError } from '../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../functions/kubernetes/resources.ts';

export interface ReadinessOptions {
  readonly cluster: Cluster;
  /** What stands in the way without asking anybody: the certificate, the process's end. */
  readonly problem: () => string | undefined;
  /** How long the API server may take, milliseconds. */
  readonly withinMs?: number;
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
}: ReadinessOptions): () => Promise<string | undefined> {
  let askedAt = -Infinity;
  let answer: Promise<string | undefined> = Promise.resolve(undefined);
  return async () => {
    const known = problem();
    if (known !== undefined) return known;
    if (performance.now() - askedAt > FRESH_MS) {
      askedAt = performance.now();
      answer = reach(cluster, withinMs);
    }
    return answer;
  };
}

/** Never rejects. */
async function reach(cluster: Cluster, withinMs: number): Promise<string | undefined> {
  const answered = new AbortController();
  const read = cluster.get(NAMESPACES, { name: SYSTEM_NAMESPACE }).then(
    () => undefined,
    (error: unknown) => `no namespace can be read: ${describeError(error)}`,
  );
  const late = after(withinMs, `the API server does not answer within ${withinMs} ms`, {
    signal: answered.signal,
  }).catch(() => undefined);
  const result = await Promise.race([read, late]);
  answered.abort();
  return result;
}
