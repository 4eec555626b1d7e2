import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ResourceList } from '../../../functions/domain/objects.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectQuiescent, untilOver } from '../../support/invariants/quiescent.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { countedPods, fullFor, newTenant, type Tenant } from '../../support/tenant/tenant.ts';

/** Edits of a raised quota by its owner while kube-controller-manager is paused. */
const EDITS: Readonly<Record<string, ResourceList>> = {
  'a key is added': { services: '5' },
  'a key is raised': { pods: '20' },
  'a key is lowered': { pods: '5' },
  'many keys are added': Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`count/k${i}.x`, '0'])),
};

let environment: TestEnvironment;
const tenants = new Map<string, Tenant>();

beforeAll(async () => {
  environment = await startTestEnvironment();
  for (const [index, what] of Object.keys(EDITS).entries()) {
    tenants.set(what, await newTenant(environment, { name: `edited-${index}` }));
  }
  const all = [...tenants.values()];
  const holds = all.map(({ name }) => environment.hold(name, 'mtq-lower'));
  await Promise.all(
    all.map(async (tenant) => {
      await tenant.migrate();
      await tenant.history.until('the target pod is charged', () => countedPods(tenant) === '2');
    }),
  );
  await environment.cluster.controlPlane.pauseControllerManager();
  for (const [what, hard] of Object.entries(EDITS)) await edit(tenants.get(what), hard);
  for (const go of holds) go();
});

afterAll(async () => {
  await environment.stop();
});

async function edit(tenant: Tenant | undefined, hard: ResourceList): Promise<void> {
  if (tenant === undefined) return;
  const { object } = await environment.admin.get(RESOURCE_QUOTAS, { namespace: tenant.name, name: 'quota' });
  const spec = { ...object.spec, hard: { ...object.spec.hard, ...hard } };
  tenant.history.noteForeign((await environment.admin.replace(RESOURCE_QUOTAS, { ...object, spec })).object);
}

test.each(Object.keys(EDITS))('%s: the namespace is unlocked without the controller', async (what) => {
  const tenant = tenants.get(what);
  if (tenant === undefined) throw new Error(`no tenant where ${what}`);
  await untilOver(tenant);
  expect(tenant.history.isLocked()).toBe(false);
});

test('the resumed controller enforces the owners’ edits', async () => {
  environment.cluster.controlPlane.resumeControllerManager();
  for (const [what, tenant] of tenants) {
    const want = { ...fullFor(1), ...EDITS[what] };
    await tenant.history.until('it is enforced', (history) =>
      Object.entries(want).every(
        ([key, text]) => history.latest(RESOURCE_QUOTAS)?.status?.hard?.[key] === text,
      ),
    );
    await expectQuiescent(environment.admin, tenant);
  }
});
