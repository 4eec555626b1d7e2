import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KUBEVIRT, POLICY, REASON } from '../../../functions/domain/names.ts';
import { knownVerdicts } from '../../../functions/domain/progress/known-verdict.ts';
import { CLUSTER_VMMRQS, EVENTS, PROGRESSES } from '../../../functions/kubernetes/resources.ts';
import {
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  newMigration,
} from '../../cluster/kubevirt/objects/objects.ts';
import { deploy } from '../../cluster/kubevirt/operator.ts';
import { RELEASE } from '../../cluster/kubevirt/objects/release.ts';
import { apiRequests, type ApiAnswer, type ApiRequest } from '../../support/environment/api-request.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { bindRole, untilAllowed } from '../../support/environment/roles.ts';
import { headroomFor, newTenant, type Tenant } from '../../support/tenant/tenant.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';

/** A tenant wants what an admin gives to drains and upgrades. KubeVirt's webhooks and controllers take part. */

const USER = { name: 'theo', groups: ['editors'] };
/** As KubeVirt's role for tenants, and more: it lets them write VMIs. */
const RULES = [
  { apiGroups: ['kubevirt.io'], resources: ['*'], verbs: ['*'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
];

let environment: TestEnvironment;
let asTenant: (request: ApiRequest) => Promise<ApiAnswer>;

beforeAll(async () => {
  environment = await startTestEnvironment({ kubevirt: { drains: true } });
  const { admin, cluster } = environment;
  await deploy(admin, { workloadUpdateMethods: ['LiveMigrate'] }, RELEASE);
  await admin.create(CLUSTER_VMMRQS, {
    metadata: { name: 'maintenance' },
    spec: { namespaceSelector: {}, additionalMigrationResources: headroomFor(1) },
  });
  await bindRole(admin, { role: 'tenants', user: USER.name, rules: RULES });
  const eviction = { verb: 'create', resource: 'pods', subresource: 'eviction' };
  await untilAllowed(admin, USER.name, { ...eviction, allowed: true });
  asTenant = apiRequests(await cluster.controlPlane.kubeconfigForUser(USER));
});

afterAll(async () => {
  await environment.stop();
});

const path = (namespace: string, plural: string): string =>
  `/apis/kubevirt.io/v1/namespaces/${namespace}/${plural}`;

const patch = (of: string, metadata: object): Promise<ApiAnswer> =>
  asTenant({
    method: 'PATCH',
    path: of,
    body: { metadata },
    contentType: 'application/merge-patch+json',
  });

const migrate = (namespace: string, annotations: Readonly<Record<string, string>>): Promise<ApiAnswer> =>
  asTenant({
    method: 'POST',
    path: path(namespace, FULL_MIGRATIONS.plural),
    body: {
      apiVersion: FULL_MIGRATIONS.apiVersion,
      kind: FULL_MIGRATIONS.kind,
      ...newMigration({ namespace, name: 'mig0', vmi: 'vm0', annotations }),
    },
  });

async function evictOwnLauncher({ name: namespace }: Tenant): Promise<void> {
  const { items } = await environment.admin.list(LAUNCHER_PODS, { namespace });
  const [name = ''] = items.map(({ metadata }) => metadata.name);
  const answer = await asTenant({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/pods/${name}/eviction`,
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } },
  });
  expect(answer.code).toBe(429);
}

/** As KubeVirt does for a VM that gets more CPUs. */
async function hotplug({ name: namespace }: Tenant): Promise<void> {
  const conditions = [
    { type: 'HotVCPUChange', status: 'True' },
    { type: 'LiveMigratable', status: 'True' },
  ];
  await environment.admin.patch(FULL_VMIS, { namespace, name: 'vm0' }, { merge: { status: { conditions } } });
}

const refused = { code: 403, body: { message: expect.stringContaining(POLICY.purposes) } };

/** Each tries; at the end KubeVirt has a migration of its VM. */
const TRICKS: Record<string, (tenant: Tenant) => Promise<void>> = {
  'evicts its own launcher': evictOwnLauncher,
  'hotplugs CPUs': hotplug,
  'copies KubeVirt’s annotations to its migration': async ({ name }) => {
    for (const mark of [KUBEVIRT.evacuation, KUBEVIRT.workloadUpdate]) {
      expect(await migrate(name, { [mark]: 'node1' })).toMatchObject(refused);
    }
    expect((await migrate(name, {})).code).toBe(201);
    const annotations = { [KUBEVIRT.evacuation]: 'node1' };
    expect(await patch(`${path(name, FULL_MIGRATIONS.plural)}/mig0`, { annotations })).toMatchObject(refused);
  },
  'marks its VM as outdated, and hotplugs CPUs': async (tenant) => {
    const labels = { [KUBEVIRT.outdatedLauncher]: '' };
    expect(await patch(`${path(tenant.name, FULL_VMIS.plural)}/vm0`, { labels })).toMatchObject(refused);
    await hotplug(tenant);
  },
};

/** Why a trick gives nothing: that of an eviction is that no admin drains the node. */
const GIVES_NOTHING: readonly (string | undefined)[] = [REASON.purposeNotServed, REASON.nodeNotDrained];

test.each(Object.entries(TRICKS))(
  'a tenant that %s gets nothing, and no drain is reported',
  async (_, trick) => {
    const name = `tricks-${String(Object.values(TRICKS).indexOf(trick))}`;
    const tenant = await newTenant(environment, { name, gives: null });
    await trick(tenant);
    await tenant.history.until('feasibility says why', (history) =>
      [...knownVerdicts(history.of(EVENTS)).values()].some(({ reason }) => GIVES_NOTHING.includes(reason)),
    );
    expect(tenant.history.locks()).toEqual([]);
    expect(wasRaised(tenant.history)).toBe(false);
    expect((await environment.admin.list(PROGRESSES, {})).items).toEqual([]);
  },
);
