import { LOCK_VERSION, lockOf, withLock } from '../../functions/domain/lock.ts';
import type { Pod } from '../../functions/domain/objects.ts';
import { connect } from '../../functions/kubernetes/client.ts';
import type { Cluster, New, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { isRefused } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES, PODS } from '../../functions/kubernetes/resources.ts';
import { DEFAULT_USERS } from '../controlplane/start.ts';
import type { NodeCluster } from './cluster.ts';
import { until } from './until.ts';

const TENANT = DEFAULT_USERS.find(({ name }) => name === 'tenant-admin');
export const TENANTS_NAMESPACE = 'tenant';
const LOCKED_MS = 10_000;
/** A lock's end, five seconds more, and the guard's own looking. */
const REPAIRED_WITHIN_MS = 40_000;

/** A namespace where a user who is no administrator may create pods. Resolves with that user's way to it. */
export async function makeTenant({ controlPlane, admin }: NodeCluster): Promise<Cluster> {
  if (TENANT === undefined) throw new Error('the control plane knows no tenant');
  await admin.create(NAMESPACES, { metadata: { name: TENANTS_NAMESPACE } });
  const bindings: ResourceType = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    plural: 'rolebindings',
    namespaced: true,
  };
  const edit = {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: TENANT.name }],
  };
  await admin.create(bindings, { metadata: { name: 'edit', namespace: TENANTS_NAMESPACE }, ...edit });
  return connect(await controlPlane.kubeconfigForUser(TENANT));
}

/** Locks it by hand, for a migration that there is not. */
export async function lockByHand(admin: Cluster): Promise<void> {
  const { object, date } = await admin.get(NAMESPACES, { name: TENANTS_NAMESPACE });
  const lock = {
    v: LOCK_VERSION,
    token: crypto.randomUUID(),
    acquiredAt: date.toISOString(),
    expiresAt: new Date(date.getTime() + LOCKED_MS).toISOString(),
    migrations: [{ name: 'none', uid: crypto.randomUUID(), vmi: crypto.randomUUID() }],
    quotas: [],
  };
  await admin.replace(NAMESPACES, withLock(object, lock));
}

/** Resolves when the guard has freed it, all by itself: no Broker brings what it posts to anybody. */
export const untilFreed = (admin: Cluster): Promise<void> =>
  until(REPAIRED_WITHIN_MS, async () => {
    const { object } = await admin.get(NAMESPACES, { name: TENANTS_NAMESPACE });
    return lockOf(object).kind === 'none' ? undefined : 'the namespace is still locked';
  });

/** The refusal of a pod (nothing is stored), undefined when it is admitted. */
export async function refusalOf(
  user: Cluster,
  namespace: string,
  pod: Pick<Pod, 'spec'>,
): Promise<string | undefined> {
  const asked: New<Pod> = { metadata: { name: 'asked', namespace }, spec: pod.spec };
  try {
    await user.create(PODS, asked, { dryRun: true });
    return undefined;
  } catch (error) {
    if (isRefused(error)) return error.status.message ?? error.message;
    throw error;
  }
}

/** Nothing wrong with it, and nothing restricted about it. */
const CONTAINER = { name: 'one', image: 'image.test/one:1' };
export const PLAIN_POD: Pick<Pod, 'spec'> = { spec: { containers: [CONTAINER] } };
