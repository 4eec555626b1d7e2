import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { LABELS, MIGRATION_FINALIZER } from '../../cluster/kubevirt/objects/names.ts';
import { FULL_MIGRATIONS } from '../../cluster/kubevirt/objects/objects.ts';
import { MUTATING_POLICIES, MUTATING_POLICY_BINDINGS } from '../../cluster/policies-in-force.ts';
import { askUntil } from '../eventually.ts';

const NAME = 'virt-api-mutates-migrations';

/** Completes every VMIM as virt-api's mutating webhook does: its finalizer, and the label of its VMI. Resolves when this is in effect. */
export async function completeMigrations(admin: Cluster): Promise<void> {
  const expression = `Object{metadata: Object.metadata{finalizers: ['${MIGRATION_FINALIZER}'], labels: {'${LABELS.vmiName}': object.spec.vmiName}}}`;
  await admin.create(MUTATING_POLICIES, {
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
  await admin.create(MUTATING_POLICY_BINDINGS, { metadata: { name: NAME }, spec: { policyName: NAME } });
  const probe = { metadata: { namespace: 'default', name: 'probe' }, spec: { vmiName: 'probe' } };
  // The policy knows a kind only some time after its CRD is served, and refuses it until then.
  const finalizersNow = (): Promise<readonly string[]> =>
    admin.create(FULL_MIGRATIONS, probe, { dryRun: true }).then(
      ({ object }) => object.metadata.finalizers ?? [],
      () => [],
    );
  await askUntil('a migration is completed', finalizersNow, (finalizers) => finalizers.length > 0);
}
