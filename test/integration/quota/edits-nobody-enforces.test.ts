import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { POLICY, SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { ResourceList } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { orGone } from '../../../functions/cluster/snapshot.ts';
import { POLICY_BINDINGS, policiesInForce } from '../../cluster/policies-in-force.ts';
import { expectAtRest, untilOver } from '../../support/at-rest.ts';
import { startLab, type Lab } from '../../support/lab.ts';
import { countedPods, fullFor, newTenant, type Tenant } from '../../support/tenant.ts';

/** What somebody makes of a raised quota while kube-controller-manager stands still (docs/adr/0008). */
const EDITS: Readonly<Record<string, ResourceList>> = {
  'a key is added': { services: '5' },
  'a key is raised': { pods: '20' },
  'a key is lowered': { pods: '5' },
};

let lab: Lab;
const tenants = new Map<string, Tenant>();

beforeAll(async () => {
  lab = await startLab();
  // Not even our own accounts may do that; one of them stands for somebody whose edit came past the guard.
  await orGone(lab.admin.delete(POLICY_BINDINGS, { name: POLICY.ownWrites }));
  const itCounts = await policiesInForce(lab.admin);
  await itCounts();
  for (const [index, what] of Object.keys(EDITS).entries()) {
    tenants.set(what, await newTenant(lab, { name: `edited-${index}` }));
  }
  const all = [...tenants.values()];
  const holds = all.map(({ name }) => lab.hold(name, 'mtq-lower'));
  await Promise.all(
    all.map(async (tenant) => {
      await tenant.migrate();
      await tenant.history.until('the target pod is charged', () => countedPods(tenant) === '2');
    }),
  );
  await lab.cluster.controlPlane.pauseControllerManager();
  for (const [what, hard] of Object.entries(EDITS)) await edit(tenants.get(what), hard);
  for (const go of holds) go();
});

afterAll(async () => {
  await lab.stop();
});

/** Past the guard, as an edit that was under way when the namespace was locked: by an account that it lets through. */
async function edit(tenant: Tenant | undefined, hard: ResourceList): Promise<void> {
  if (tenant === undefined) return;
  const account = { namespace: SYSTEM_NAMESPACE, name: SERVICE_ACCOUNT.lower };
  const past = connect(await lab.cluster.controlPlane.kubeconfigFor(account), 'test');
  const { object } = await lab.admin.get(RESOURCE_QUOTAS, { namespace: tenant.name, name: 'quota' });
  const spec = { ...object.spec, hard: { ...object.spec.hard, ...hard } };
  tenant.history.noteForeign((await past.replace(RESOURCE_QUOTAS, { ...object, spec })).object);
}

test.each(Object.keys(EDITS))('%s: the namespace is free without the controller', async (what) => {
  const tenant = tenants.get(what);
  if (tenant === undefined) throw new Error(`no tenant where ${what}`);
  await untilOver(tenant);
  expect(tenant.history.isLocked()).toBe(false);
});

test('and when it works again, what they said is enforced', async () => {
  lab.cluster.controlPlane.resumeControllerManager();
  for (const [what, tenant] of tenants) {
    const want = { ...fullFor(1), ...EDITS[what] };
    await tenant.history.until('it is enforced', (history) =>
      Object.entries(want).every(
        ([key, text]) => history.latest(RESOURCE_QUOTAS)?.status?.hard?.[key] === text,
      ),
    );
    await expectAtRest(lab.admin, tenant);
  }
});
