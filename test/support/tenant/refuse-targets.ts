import type { LimitRangeItem } from '../../../functions/domain/objects.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import { LIMIT_RANGES, PODS } from '../../../functions/kubernetes/resources.ts';
import { POLICIES, POLICY_BINDINGS, policiesInForce } from '../../cluster/policies-in-force.ts';
import { askUntil } from '../eventually.ts';
import type { TestEnvironment } from '../environment/test-environment.ts';
import type { Tenant } from './tenant.ts';

const LIMIT_RANGE = 'no-launchers';

/**
 * Migrates a VM whose target pod is refused by the quota first, and by a LimitRange after the raise. virt-controller's
 * Events are best effort and lost here, because with them `lock` would not lock the namespace.
 * So the lock lasts until the protocol's own timeout. Resolves when the migration may be locked for.
 */
export async function refuseTargets(environment: TestEnvironment, tenant: Tenant, vm = 0): Promise<void> {
  const { admin } = environment;
  const { name } = tenant;
  const resume = environment.hold(name, 'mtq-lock');
  await tenant.migrate(vm);
  await tenant.untilBlocked(vm);
  await loseFailures(admin, name);
  await limitLaunchers(admin, name, { max: { cpu: '1m' } });
  resume();
}

/**
 * Creates a LimitRange that refuses every virt-launcher pod, and resolves when the API server enforces it: its admission
 * reads LimitRanges from a watch, so that a pod that is created at once may still be let in.
 */
export async function limitLaunchers(
  admin: Cluster,
  namespace: string,
  limit: Pick<LimitRangeItem, 'min' | 'max'>,
): Promise<void> {
  await admin.create(LIMIT_RANGES, {
    metadata: { namespace, name: LIMIT_RANGE },
    spec: { limits: [{ type: 'Container', ...limit }] },
  });
  const resources = { requests: { cpu: '2m', memory: '1Mi' }, limits: { cpu: '2m', memory: '1Mi' } };
  const pod = {
    metadata: { namespace, name: 'probe' },
    spec: { containers: [{ name: 'probe', image: 'probe', resources }] },
  };
  await askUntil(
    'the LimitRange refuses pods',
    () => admin.create(PODS, pod, { dryRun: true }).then(() => 'created', describeError),
    (answer) => answer.includes('cpu usage per Container is'),
  );
}

/** Deletes it. */
export const allowLaunchers = (admin: Cluster, namespace: string): Promise<unknown> =>
  admin.delete(LIMIT_RANGES, { namespace, name: LIMIT_RANGE });

/** From now on no Event about a refused pod can be written in this namespace. */
async function loseFailures(admin: Cluster, namespace: string): Promise<void> {
  const name = `no-failures.${namespace}`;
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['events'] };
  await admin.create(POLICIES, {
    metadata: { name },
    spec: {
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        resourceRules: [{ ...rule, operations: ['CREATE', 'UPDATE'] }],
      },
      validations: [{ expression: "object.reason != 'FailedCreate'" }],
    },
  });
  const spec = { policyName: name, validationActions: ['Deny'] };
  await admin.create(POLICY_BINDINGS, { metadata: { name }, spec });
  await (
    await policiesInForce(admin)
  )();
}
