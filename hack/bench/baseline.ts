import { isRejectedByQuota } from '../../functions/domain/migration.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { KubernetesObject, ResourceList, ResourceQuota } from '../../functions/domain/objects.ts';
import { connect } from '../../functions/kubernetes/client.ts';
import type { ResourceType } from '../../functions/kubernetes/cluster.ts';
import { follow } from '../../functions/kubernetes/follow.ts';
import { MIGRATIONS, PODS, RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';

/**
 * The smallest program that helps a blocked migration: it raises the quota when KubeVirt reports a refusal, and restores it when a
 * target pod appears. It has no lock, keeps no record, and restores nothing after a crash. Resolves, once both watches are open, to a
 * function that stops it.
 */
export async function startBaseline(
  adminKubeconfig: string,
  { metadata, spec }: ResourceQuota,
  raised: ResourceList,
): Promise<() => Promise<void>> {
  const cluster = connect(adminKubeconfig);
  const over = new AbortController();
  const { namespace = '', name } = metadata;
  const done = new Set<string>();
  const patchOnce = (key: string, hard: ResourceList): void => {
    if (done.has(key)) return;
    done.add(key);
    void cluster.patch(RESOURCE_QUOTAS, { namespace, name }, { merge: { spec: { hard } } });
  };
  const ended: Promise<void>[] = [];
  const watch = <T extends KubernetesObject>(
    type: ResourceType<T>,
    onChange: (object: T) => void,
  ): Promise<undefined> => {
    const { promise: listed, resolve, reject } = Promise.withResolvers<undefined>();
    const followed = { type, where: { namespace }, signal: over.signal };
    const onList = (): void => resolve(undefined);
    ended.push(follow(cluster, followed, { onList, onChange, onGone: () => undefined, onError: reject }));
    return listed;
  };
  await Promise.all([
    watch(MIGRATIONS, (migration) => {
      if (isRejectedByQuota(migration)) patchOnce(`raise ${migration.metadata.uid}`, raised);
    }),
    watch(PODS, ({ metadata: { labels = {}, uid } }) => {
      if (labels[KUBEVIRT.migrationJobUID] !== undefined) patchOnce(`lower ${uid}`, spec.hard ?? {});
    }),
  ]);
  return async () => {
    over.abort();
    await Promise.all(ended);
  };
}
