import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { follow } from '../../../functions/kubernetes/follow.ts';
import { FULL_CLAIMS } from '../../cluster/kubevirt/objects/objects.ts';
import type { PairSide } from '../kubevirt/pair.ts';

/** What the controller does that protects claims in use, which runs here for no cluster; until the result is called. */
export function removeClaims({
  admin,
  namespace,
}: Pick<PairSide, 'admin' | 'namespace'>): () => Promise<void> {
  const over = new AbortController();
  const remove = ({ metadata }: KubernetesObject): void => {
    if (metadata.deletionTimestamp === undefined) return;
    const merge = { metadata: { finalizers: null } };
    void admin.patch(FULL_CLAIMS, { namespace, name: metadata.name }, { merge }).catch(() => undefined);
  };
  const following = follow(
    admin,
    { type: FULL_CLAIMS, where: { namespace }, signal: over.signal },
    {
      onList: (claims) => claims.forEach(remove),
      onChange: remove,
      onGone: () => undefined,
      onError: () => undefined,
    },
  );
  return async () => {
    over.abort();
    await following;
  };
}
