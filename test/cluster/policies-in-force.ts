import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { isNotFound, isRejected } from '../../functions/kubernetes/errors.ts';

interface Specified extends KubernetesObject {
  spec?: unknown;
}

const admission = { apiVersion: 'admissionregistration.k8s.io/v1', namespaced: false };

export const POLICIES: ResourceType<Specified> = {
  ...admission,
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
};
export const POLICY_BINDINGS: ResourceType<Specified> = {
  ...admission,
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
};

export const CONFIG_MAPS: ResourceType = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
};
const WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;

/**
 * The API server looks once a second whether its policies have changed, and nothing tells when it has. It hears of them
 * in their order: so a policy is made that refuses one name, and when it does, all that was created, changed or deleted
 * before it counts as well. Resolves to the wait itself, for whoever has something else to do meanwhile.
 */
export async function policiesInForce(admin: Cluster): Promise<() => Promise<void>> {
  const name = `in-force-${crypto.randomUUID()}`;
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] };
  await admin.create(POLICIES, {
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules: [{ ...rule, resourceNames: [name] }] },
      validations: [{ expression: 'false' }],
    },
  });
  await admin.create(POLICY_BINDINGS, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  return async () => {
    const until = performance.now() + WITHIN_MS;
    while (!(await isRefusedNow(admin, name))) {
      if (performance.now() > until) throw new Error('the API server does not take its policies into use');
      await delay(LOOK_EVERY_MS);
    }
    await admin.delete(POLICY_BINDINGS, { name });
    await admin.delete(POLICIES, { name });
  };
}

async function isRefusedNow(admin: Cluster, name: string): Promise<boolean> {
  try {
    await admin.create(CONFIG_MAPS, { metadata: { namespace: 'default', name } }, { dryRun: true });
    return false;
  } catch (error) {
    if (isNotFound(error)) return false;
    if (isRejected(error)) return true;
    throw error;
  }
}
