import type { KubernetesObject } from '../domain/objects.ts';
import type { Cluster, ResourceType } from '../kubernetes/cluster.ts';
import { isNotFound } from '../kubernetes/errors.ts';

const MTQS: ResourceType = {
  apiVersion: 'mtq.kubevirt.io/v1alpha1',
  kind: 'MTQ',
  plural: 'mtqs',
  namespaced: false,
};
const WEBHOOK_CONFIGURATIONS: ResourceType = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
};

/**
 * Signs of the incumbent (kubevirt/managed-tenant-quota): an MTQ object, or its lock on this namespace. Both systems at
 * once would undo each other's raises. Resolves with what to do about it, or undefined.
 */
export async function findIncumbent(cluster: Cluster, namespace: string): Promise<string | undefined> {
  const [mtqs, isLocked] = await Promise.all([
    listOrNone(cluster, MTQS),
    exists(cluster, WEBHOOK_CONFIGURATIONS, `lock.${namespace}.com`),
  ]);
  const [mtq] = mtqs;
  if (mtq !== undefined) {
    return `the incumbent is installed (MTQ object ${mtq.metadata.name}): remove it, never run both at once`;
  }
  if (!isLocked) return undefined;
  return `the incumbent holds this namespace (ValidatingWebhookConfiguration lock.${namespace}.com): remove it`;
}

async function listOrNone(cluster: Cluster, type: ResourceType): Promise<KubernetesObject[]> {
  try {
    return (await cluster.list(type, {})).items;
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

async function exists(cluster: Cluster, type: ResourceType, name: string): Promise<boolean> {
  try {
    await cluster.get(type, { name });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
