import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../cluster/kubevirt/objects/objects.ts';

/** KubeVirt's limits on parallel migrations, set so high that tests of other subjects can run side by side. */
export async function unlimitMigrations(admin: Cluster): Promise<void> {
  const limits = { parallelMigrationsPerCluster: 1_000, parallelOutboundMigrationsPerNode: 1_000 };
  await admin.create(FULL_KUBEVIRTS, newKubeVirt(limits));
}
