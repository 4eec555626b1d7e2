import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lockOf } from '../../../functions/domain/lock.ts';
import { ANNOTATION, EVENT_REASON, LABEL, userOf } from '../../../functions/domain/names.ts';
import type { Namespace } from '../../../functions/domain/objects.ts';
import { EVENTS, NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { auditLog } from '../../support/environment/audit.ts';
import { writeByHand } from '../../support/tenant/by-hand.ts';
import { askUntil } from '../../support/eventually.ts';
import { runWith, type RunPlugin } from '../../support/environment/plugin.ts';
import { bindRole, untilAllowed } from '../../support/environment/roles.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

/** May read and patch namespaces; gets the break-glass role later. */
const USER = { name: 'repairer', groups: ['repairers'] };
const BREAK_GLASS = 'managed-tenant-quota-break-glass';
const LOCKED = 'unlock-locked';

let environment: TestEnvironment;
let plugin: RunPlugin;

beforeAll(async () => {
  // A lock lasts as long as it may, because the tests look at it; the guard leaves what is due to `unlock`.
  environment = await startTestEnvironment({ env: { LOCK_SECONDS: '60', OVERDUE_SECONDS: '10' } });
  const { admin, cluster } = environment;
  const rules = [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'patch'] }];
  await bindRole(admin, { role: 'namespace-patcher', user: USER.name, rules });
  await untilAllowed(admin, USER.name, { verb: 'patch', resource: 'namespaces', allowed: true });
  plugin = runWith(await cluster.controlPlane.kubeconfigForUser(USER));
  environment.hold(LOCKED, 'mtq-raise');
  const tenant = await newTenant(environment, { name: LOCKED });
  await tenant.migrate();
  await tenant.history.until('it is locked', () => tenant.history.isLocked());
});

afterAll(async () => {
  await environment.stop();
});

const namespaceNow = async (name: string): Promise<Namespace> =>
  (await environment.admin.get(NAMESPACES, { name })).object;

test('lists the right that break-glass takes, and does nothing', async () => {
  const { code, stdout, stderr } = await plugin('unlock', LOCKED, '--yes');
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr.split('\n')).toEqual([
    'error: you lack these rights:',
    `  override locks.mtq.kubevirt.io/${LOCKED}`,
    `a cluster-admin gives them by the ClusterRole ${BREAK_GLASS}:`,
    `  kubectl create clusterrolebinding ${BREAK_GLASS} --clusterrole=${BREAK_GLASS} --user=USER`,
    '',
  ]);
  expect(lockOf(await namespaceNow(LOCKED)).kind).toBe('held');
});

test('without a terminal needs --yes, and then removes the lock that it shows', async () => {
  const { admin } = environment;
  await bindRole(admin, { role: BREAK_GLASS, user: USER.name });
  const override = { verb: 'override', group: 'mtq.kubevirt.io', resource: 'locks' };
  await untilAllowed(admin, USER.name, { ...override, allowed: true });
  const refused = await plugin('unlock', LOCKED);
  expect([refused.code, refused.stderr]).toEqual([2, 'error: there is no terminal to ask on: use --yes\n']);
  const before = await namespaceNow(LOCKED);
  const token = before.metadata.annotations?.[ANNOTATION.token] ?? '';
  expect(lockOf(before).kind).toBe('held');

  const { code, stdout, stderr } = await plugin('unlock', LOCKED, '--yes');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(`Token:      ${token}\n`);
  expect(stdout.trim().split('\n').at(-1)).toBe(`namespace ${LOCKED}: unlocked`);
  const { items } = await admin.list(EVENTS, {
    namespace: LOCKED,
    fieldSelector: `reason=${EVENT_REASON.lockRemoved}`,
  });
  expect(items.map(({ message, involvedObject }) => [involvedObject.kind, message])).toEqual([
    ['Namespace', `${USER.name} removed the lock ${token} by break-glass`],
  ]);
  // `lock` may have locked it again by now.
  expect((await namespaceNow(LOCKED)).metadata.annotations?.[ANNOTATION.token]).not.toBe(token);
});

test('nobody has to: `unlock` removes an unreadable lock, long before the guard would', async () => {
  const name = 'unlock-by-itself';
  const { admin } = environment;
  await admin.create(NAMESPACES, { metadata: { name } });
  await writeByHand(admin, name, { labels: { [LABEL.locked]: 'true' } });
  await askUntil(
    'the lock is off',
    () => namespaceNow(name),
    (namespace) => lockOf(namespace).kind === 'none',
  );
  const requests = await auditLog(environment.cluster.controlPlane, admin);
  const removals = requests.filter(({ verb, objectRef }) => verb === 'update' && objectRef?.name === name);
  expect(removals.map(({ user }) => user.username)).toEqual([userOf('mtq-unlock')]);
});

test('without a guard removes an unreadable lock, also where its token is in break-glass already', async () => {
  const name = 'unlock-unreadable';
  const { admin } = environment;
  await environment.cluster.killGuard();
  await admin.create(NAMESPACES, { metadata: { name } });
  await writeByHand(admin, name, { labels: { [LABEL.locked]: 'true' } });
  const before = await namespaceNow(name);
  expect([lockOf(before).kind, before.metadata.annotations?.[ANNOTATION.breakGlass]]).toEqual([
    'malformed',
    'unreadable',
  ]);
  const { code, stdout } = await plugin('unlock', name, '--yes');
  expect([code, stdout.trim().split('\n').at(-1)]).toEqual([0, `namespace ${name}: unlocked`]);
  expect(lockOf(await namespaceNow(name)).kind).toBe('none');
  expect((await plugin('unlock', name)).stdout).toBe(`namespace ${name} is not locked\n`);
});
