import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import {
  FULL_KUBEVIRTS,
  newKubeVirt,
  type KubeVirtSettings,
  type KubeVirtStatus,
} from './objects/objects.ts';
import type { Release } from './objects/release.ts';

/*
 * virt-operator's part: the KubeVirt CR and its status. Order of an upgrade: the operator announces the
 * release, virt-controller restarts with it, the operator observes it (test/recorded, upgrade-workload-update).
 */

const AT = { namespace: 'kubevirt', name: 'kubevirt' } as const;

const setStatus = async (admin: Cluster, status: KubeVirtStatus): Promise<void> => {
  await admin.patch(FULL_KUBEVIRTS, AT, { merge: { status }, subresource: 'status' });
};

/** Creates the CR of a KubeVirt that is deployed. */
export async function deploy(
  admin: Cluster,
  settings: Omit<KubeVirtSettings, 'namespace'>,
  { version, deploymentId }: Release,
): Promise<void> {
  await admin.create(FULL_KUBEVIRTS, newKubeVirt(settings));
  await setStatus(admin, {
    phase: 'Deployed',
    observedDeploymentID: deploymentId,
    targetDeploymentID: deploymentId,
    observedKubeVirtVersion: version,
    targetKubeVirtVersion: version,
    operatorVersion: version,
    outdatedVirtualMachineInstanceWorkloads: 0,
  });
}

/** Where other clusters reach this one's synchronization controllers. */
export const reportAddresses = (admin: Cluster, synchronizationAddresses: string[]): Promise<void> =>
  setStatus(admin, { synchronizationAddresses });

/** From now on this release is wanted. */
export const announce = (admin: Cluster, { version, deploymentId }: Release): Promise<void> =>
  setStatus(admin, { targetDeploymentID: deploymentId, targetKubeVirtVersion: version });

/** Its components run. Their number of outdated VMIs is still the old one. */
export const reportObserved = (admin: Cluster, { version, deploymentId }: Release): Promise<void> =>
  setStatus(admin, { observedDeploymentID: deploymentId, observedKubeVirtVersion: version });
