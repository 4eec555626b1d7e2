import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { PODS } from '../../../functions/kubernetes/resources.ts';
import { countedPods, type Tenant } from './tenant.ts';

const NAME = 'extra';

/**
 * A small pod beside the VMs', counted by the quota: its end makes the quota controller recount. A test that pauses
 * kube-controller-manager creates it before the pause and deletes it before the end of the pause. The controller may recount
 * before it knows the quota's new state; where it finds the usage of before the pause (a migration's two pods have become one
 * again), it writes nothing, and recounts only minutes later (resource_quota_controller.go, syncResourceQuota).
 */
export async function createExtraPod(admin: Cluster, tenant: Tenant): Promise<void> {
  const before = Number(countedPods(tenant));
  const resources = { requests: { cpu: '1m', memory: '1Mi' } };
  const containers = [{ name: NAME, image: NAME, resources }];
  await admin.create(PODS, { metadata: { namespace: tenant.name, name: NAME }, spec: { containers } });
  await tenant.history.until('it is counted', () => countedPods(tenant) === String(before + 1));
}

export const deleteExtraPod = (admin: Cluster, { name: namespace }: Tenant): Promise<unknown> =>
  admin.delete(PODS, { namespace, name: NAME }, { gracePeriodSeconds: 0 });
