import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { FULL_MIGRATIONS, newMigration } from '../../cluster/kubevirt/objects.ts';
import { LABELS } from '../../cluster/kubevirt/names.ts';
import { askUntil } from '../eventually.ts';

interface Specified extends KubernetesObject {
  spec?: unknown;
}

const admission = { apiVersion: 'admissionregistration.k8s.io/v1', namespaced: false };
const POLICIES: ResourceType<Specified> = {
  ...admission,
  kind: 'MutatingAdmissionPolicy',
  plural: 'mutatingadmissionpolicies',
};
const BINDINGS: ResourceType<Specified> = {
  ...admission,
  kind: 'MutatingAdmissionPolicyBinding',
  plural: 'mutatingadmissionpolicybindings',
};
const NAME = 'virt-api-mutates-migrations';

/** Completes every VMIM as virt-api's mutating webhook does: its finalizer, and the label of its VMI. Resolves when this is in effect. */
export async function completeMigrations(admin: Cluster): Promise<void> {
  const [finalizer = ''] = newMigration({ namespace: '', name: '', vmi: '' }).metadata.finalizers ?? [];
  const expression = `Object{metadata: Object.metadata{finalizers: ['${finalizer}'], labels: {'${LABELS.vmiName}': object.spec.vmiName}}}`;
  await admin.create(POLICIES, {
    metadata: { name: NAME },
    spec: {
      reinvocationPolicy: 'Never',
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['kubevirt.io'],
            apiVersions: ['*'],
            resources: [FULL_MIGRATIONS.plural],
            operations: ['CREATE'],
          },
        ],
      },
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
    },
  });
  await admin.create(BINDINGS, { metadata: { name: NAME }, spec: { policyName: NAME } });
  const probe = { metadata: { namespace: 'default', name: 'probe' }, spec: { vmiName: 'probe' } };
  // The policy knows a kind only some time after its CRD is served, and refuses it until then.
  const finalizersNow = (): Promise<readonly string[]> =>
    admin.create(FULL_MIGRATIONS, probe, { dryRun: true }).then(
      ({ object }) => object.metadata.finalizers ?? [],
      () => [],
    );
  await askUntil('a migration is completed', finalizersNow, (finalizers) => finalizers.length > 0);
}
