import { PROOF_QUOTA, WEBHOOK } from '../domain/names.ts';
import type { Cluster } from './cluster.ts';
import { ApiError, describeError } from './errors.ts';
import { RESOURCE_QUOTAS } from './resources.ts';

export type Proof = { readonly proven: true } | { readonly proven: false; readonly why: string };

/**
 * Proves that the guard stands before this namespace, in this API server, now: a dry-run CREATE of a ResourceQuota must
 * be refused by it with 403 and the lock's token in details.causes. Anything else, a 500 or another policy's refusal
 * included, is no proof. Rejects only when there was no answer at all.
 */
export async function prove(cluster: Cluster, namespace: string, token: string): Promise<Proof> {
  const quota = { metadata: { name: PROOF_QUOTA, namespace }, spec: {} };
  try {
    await cluster.create(RESOURCE_QUOTAS, quota, { dryRun: true });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return isGuards(error, token)
      ? { proven: true }
      : { proven: false, why: `the guard did not refuse the proof, but: ${describeError(error)}` };
  }
  return { proven: false, why: 'the guard does not stand before this namespace: the proof was not refused' };
}

const isGuards = ({ code, status }: ApiError, token: string): boolean =>
  code === 403 &&
  (status.details?.causes ?? []).some(
    ({ reason, message }) => reason === WEBHOOK.locked && message === token,
  );
