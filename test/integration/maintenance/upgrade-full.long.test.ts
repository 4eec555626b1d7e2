import { expect, test } from '@jest/globals';
import { KUBEVIRT } from '../../../functions/domain/names.ts';
import { CLUSTER_VMMRQS, EVENTS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { createNodes } from '../../cluster/kubevirt/objects/node-objects.ts';
import { FULL_MIGRATIONS, FULL_VMIS } from '../../cluster/kubevirt/objects/objects.ts';
import { deploy } from '../../cluster/kubevirt/operator.ts';
import { releaseOf } from '../../cluster/kubevirt/objects/release.ts';
import { NODE_NAMES } from '../../cluster/kubevirt/start.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { grantIn } from '../../support/invariants/replay-state.ts';
import { headroomFor, newTenant, type Tenant } from '../../support/tenant/tenant.ts';
import { startTestEnvironment } from '../../support/environment/test-environment.ts';

const [OLD, NEW] = [releaseOf('v1.9.0'), releaseOf('v1.9.1')];
const TENANTS = ['upgrade-one', 'upgrade-two'];
const BY_NAME = 'kubernetes.io/metadata.name';
const ALL = { key: BY_NAME, operator: 'In', values: TENANTS };

/** Both VMs of the tenant run in launchers of this release, and nothing is locked. */
const isUpgraded = ({ history }: Tenant): boolean =>
  ['vm0', 'vm1'].every(
    (name) =>
      history.latest(FULL_VMIS, name)?.status?.launcherContainerImageVersion === NEW.launcherImage &&
      history
        .of(FULL_MIGRATIONS)
        .some(({ spec, status }) => spec.vmiName === name && status?.phase === 'Succeeded'),
  ) && !history.isLocked();

test('an upgrade of full tenants goes through by one cluster-wide VMMRQ for updates', async () => {
  const environment = await startTestEnvironment({
    kubevirt: { release: OLD, updateThrottleMs: 300, heartbeatMs: 500 },
  });
  const { admin, cluster } = environment;
  try {
    await deploy(admin, { workloadUpdateMethods: ['LiveMigrate'] }, OLD);
    await createNodes(admin, NODE_NAMES);
    const tenants = await Promise.all(
      TENANTS.map((name) => newTenant(environment, { name, vms: 2, gives: null })),
    );
    await admin.create(CLUSTER_VMMRQS, {
      metadata: { name: 'upgrades' },
      spec: {
        namespaceSelector: { matchLabels: { [BY_NAME]: TENANTS[0] ?? '' } },
        additionalMigrationResources: headroomFor(1),
        purposes: ['WorkloadUpdate'],
      },
    });
    await cluster.upgradeKubeVirt(NEW);
    const [served, waiting] = tenants as [Tenant, Tenant];
    await served.history.until('both VMs are updated', () => isUpgraded(served));
    const migrations = served.history.of(FULL_MIGRATIONS);
    for (const { metadata } of migrations)
      expect(metadata.annotations).toHaveProperty([KUBEVIRT.workloadUpdate]);
    const grants = served.history.of(RESOURCE_QUOTAS).flatMap((quota) => grantIn(quota) ?? []);
    expect(new Set(grants.flatMap(({ vmmrqs }) => vmmrqs.map(({ name }) => name)))).toEqual(
      new Set(['cvmmrq/upgrades']),
    );
    await expectAsBefore(admin, served);

    // The other one is not selected, and waits until it is.
    expect(waiting.history.locks()).toEqual([]);
    await admin.patch(
      CLUSTER_VMMRQS,
      { name: 'upgrades' },
      { merge: { spec: { namespaceSelector: { matchLabels: null, matchExpressions: [ALL] } } } },
    );
    await waiting.history.until('its VMs are updated too', () => isUpgraded(waiting));
    await expectAsBefore(admin, waiting);

    for (const { name } of tenants) {
      const { items } = await admin.list(EVENTS, { namespace: name });
      const others = TENANTS.filter((each) => each !== name);
      expect(items.filter((event) => others.some((each) => JSON.stringify(event).includes(each)))).toEqual(
        [],
      );
    }
  } finally {
    await admin.delete(CLUSTER_VMMRQS, { name: 'upgrades' }).catch(() => undefined);
    await environment.stop();
  }
});
