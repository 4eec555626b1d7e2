import { isRejectedByQuota } from '../../functions/domain/migration.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { KubernetesObject, ResourceList, ResourceQuota } from '../../functions/domain/objects.ts';
import { connect } from '../../functions/kubernetes/client.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { follow } from '../../functions/kubernetes/follow.ts';
import { MIGRATIONS, PODS, RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import { FLOOR } from './requests.ts';

export interface FloorOptions {
  /** An administrator's. */
  readonly kubeconfig: string;
  readonly quota: ResourceQuota;
  /** What the quota is raised to. */
  readonly raised: ResourceList;
}

/**
 * The least that lets a migration through: two watches; the quota is raised when a migration is refused, and put back when
 * a target pod comes. No lock, no record, nobody is kept out, and nothing is put back if it dies. What everything else is
 * measured by. Resolves, when it watches, to what stops it.
 */
export async function startFloor({ kubeconfig, quota, raised }: FloorOptions): Promise<() => Promise<void>> {
  const cluster = connect(kubeconfig, FLOOR);
  const over = new AbortController();
  const { metadata, spec } = quota;
  const { namespace = '', name } = metadata;
  const original = spec.hard ?? {};
  const done = new Set<string>();
  const once = (key: string, hard: ResourceList): void => {
    if (done.has(key)) return;
    done.add(key);
    void cluster.patch(RESOURCE_QUOTAS, { namespace, name }, { merge: { spec: { hard } } });
  };
  const where = { cluster, namespace, signal: over.signal };
  const watches = [
    watch({ ...where, type: MIGRATIONS }, (migration) => {
      if (isRejectedByQuota(migration)) once(`raise ${migration.metadata.uid}`, raised);
    }),
    watch({ ...where, type: PODS }, ({ metadata: { labels = {}, uid } }) => {
      const isTarget = labels[KUBEVIRT.migrationJobUID] !== undefined;
      if (isTarget) once(`lower ${uid}`, original);
    }),
  ];
  await Promise.all(watches.map(({ listed }) => listed));
  return async () => {
    over.abort();
    await Promise.all(watches.map(({ ended }) => ended));
  };
}

interface Watched<T extends KubernetesObject> {
  readonly cluster: Cluster;
  readonly type: ResourceType<T>;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

function watch<T extends KubernetesObject>(
  { cluster, ...watched }: Watched<T>,
  onChange: (object: T) => void,
): { listed: Promise<undefined>; ended: Promise<void> } {
  const { promise: listed, resolve, reject } = Promise.withResolvers<undefined>();
  const { type, namespace, signal } = watched;
  const ended = follow(
    cluster,
    { type, where: { namespace }, signal },
    { onList: () => resolve(undefined), onChange, onGone: () => undefined, onError: reject },
  );
  return { listed, ended };
}
