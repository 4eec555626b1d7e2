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

export const MUTATING_POLICIES: ResourceType<Specified> = {
  ...admission,
  kind: 'MutatingAdmissionPolicy',
  plural: 'mutatingadmissionpolicies',
};
export const MUTATING_POLICY_BINDINGS: ResourceType<Specified> = {
  ...admission,
  kind: 'MutatingAdmissionPolicyBinding',
  plural: 'mutatingadmissionpolicybindings',
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
 * The API server checks its policies once a second, and no signal shows when it has. It sees their changes
 * in order. So this creates a policy that refuses one name: when it is in effect, all policies that were created, changed or deleted
 * before it are in effect too. Resolves with the wait itself, so that the caller can do other work meanwhile.
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
