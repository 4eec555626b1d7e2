import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { renderDefault } from '../../cluster/cluster.ts';
import type { ControlPlane, User } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { untilServed } from '../../cluster/served.ts';
import { CLUSTER_ROLES, ROLE_BINDINGS, untilAllowed, type Role } from '../../support/environment/roles.ts';

/** Each user has the Kubernetes role of the same name, in one namespace. */
const USERS: Readonly<Record<'view' | 'edit' | 'admin', User>> = {
  view: { name: 'tina', groups: ['viewers'] },
  edit: { name: 'theo', groups: ['editors'] },
  admin: { name: 'tess', groups: ['owners'] },
};
const HERE = 'tenant';
const ELSEWHERE = 'other';
const GIVES = { additionalMigrationResources: { 'requests.cpu': '1' } };
const VMMRQ = { group: 'mtq.kubevirt.io', resource: VMMRQS.plural };

let controlPlane: ControlPlane;
let admin: Cluster;
let people: Readonly<Record<keyof typeof USERS, Cluster>>;

const as = async (user: User): Promise<Cluster> =>
  connect(await controlPlane.kubeconfigForUser(user), user.name);

/** Binds an existing role in one namespace. */
const bind = (by: Cluster, role: string, user: User): Promise<unknown> =>
  by.create(ROLE_BINDINGS, {
    metadata: { namespace: HERE, name: `${role}-${user.name}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'User', name: user.name, apiGroup: 'rbac.authorization.k8s.io' }],
  });

const refused = async (attempt: Promise<unknown>): Promise<boolean> => {
  const answer: unknown = await attempt.catch((error: unknown) => error);
  return answer instanceof ApiError && answer.code === 403;
};

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig, 'admin');
  const isAbout = ({ kind, metadata }: KubernetesObject): boolean =>
    kind === 'ClusterRole' && metadata.name.startsWith('managed-tenant-quota-vmmrq-');
  for (const object of await renderDefault()) {
    if (isAbout(object)) await admin.create(CLUSTER_ROLES, object as Role);
    const crds = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      namespaced: false,
    };
    if (object.kind === crds.kind)
      await admin.create({ ...crds, plural: 'customresourcedefinitions' }, object);
  }
  await untilServed(admin, VMMRQS);
  for (const name of [HERE, ELSEWHERE]) await admin.create(NAMESPACES, { metadata: { name } });
  for (const [role, user] of Object.entries(USERS)) {
    await bind(admin, role, user);
    await untilAllowed(admin, user.name, { verb: 'list', ...VMMRQ, namespace: HERE, allowed: true });
  }
  people = { view: await as(USERS.view), edit: await as(USERS.edit), admin: await as(USERS.admin) };
  await admin.create(VMMRQS, { metadata: { namespace: HERE, name: 'given' }, spec: GIVES });
});

afterAll(async () => {
  await controlPlane.stop();
});

test.each(['view', 'edit', 'admin'] as const)(
  "a namespace's %s sees its VMMRQs, and gives, changes and takes none (F44)",
  async (role) => {
    const person = people[role];
    const { items } = await person.list(VMMRQS, { namespace: HERE });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['given']);
    const [given] = items;
    if (given === undefined) throw new Error('nothing was given');

    const more = { metadata: { namespace: HERE, name: 'more' }, spec: GIVES };
    expect(await refused(person.create(VMMRQS, more))).toBe(true);
    expect(await refused(person.replace(VMMRQS, given))).toBe(true);
    expect(await refused(person.replace(VMMRQS, given, { subresource: 'status' }))).toBe(true);
    expect(await refused(person.delete(VMMRQS, { namespace: HERE, name: 'given' }))).toBe(true);
  },
);

test("a namespace's admin cannot grant that right, not even to themselves (F37)", async () => {
  expect(await refused(bind(people.admin, 'managed-tenant-quota-vmmrq-edit', USERS.admin))).toBe(true);
  // We do not restrict the same binding for a role that they hold.
  await bind(people.admin, 'view', USERS.edit);
});

test('a user with managed-tenant-quota-vmmrq-edit in a namespace may write VMMRQs only there, and never a status (F44)', async () => {
  await bind(admin, 'managed-tenant-quota-vmmrq-edit', USERS.admin);
  await untilAllowed(admin, USERS.admin.name, {
    verb: 'create',
    ...VMMRQ,
    namespace: HERE,
    allowed: true,
  });
  const { object } = await people.admin.create(VMMRQS, {
    metadata: { namespace: HERE, name: 'own' },
    spec: GIVES,
  });
  expect(await refused(people.admin.replace(VMMRQS, object, { subresource: 'status' }))).toBe(true);
  const elsewhere = { metadata: { namespace: ELSEWHERE, name: 'own' }, spec: GIVES };
  expect(await refused(people.admin.create(VMMRQS, elsewhere))).toBe(true);
  await people.admin.delete(VMMRQS, { namespace: HERE, name: 'own' });
});
