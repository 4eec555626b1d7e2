import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { ANNOTATION, REASON } from '../../../functions/domain/names.ts';
import type { Attempt } from '../../../functions/domain/verdict/attempt.ts';
import { EVENTS, NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { WITH_WEBHOOKS } from '../../support/environment/admission-mode.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { askUntil } from '../../support/eventually.ts';
import { droppedEvents, EVERYTHING } from '../../support/faults/dropped-events.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { expectQuiescent } from '../../support/invariants/quiescent.ts';
import { rawText } from '../../support/raw-text.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';

/** What is away while a quota is raised is not charged to the tenant (docs/adr/0005): the next look is at once. */
let environment: TestEnvironment;
let dropped: ReturnType<typeof droppedEvents>;

beforeAll(async () => {
  environment = await startTestEnvironment({
    admissionMode: WITH_WEBHOOKS,
    env: { LOCK_SECONDS: '15', SWEEP_SECONDS: '1', OVERDUE_SECONDS: '1' },
  });
  dropped = droppedEvents(environment);
});

afterEach(() => dropped.clear());

afterAll(async () => {
  await environment.stop();
});

/** Raised, while KubeVirt is stopped: it would create the pod within a tenth of a second. */
async function raisedWithoutKubeVirt(name: string): Promise<Tenant> {
  const tenant = await newTenant(environment, { name });
  const raise = environment.hold(name, 'mtq-raise');
  await tenant.migrate();
  await tenant.history.until('it is locked', (history) => history.isLocked());
  await environment.cluster.stopKubeVirt();
  raise();
  await tenant.history.until('it is raised', () => wasRaised(tenant.history));
  return tenant;
}

function killFunctions({ name }: Tenant): void {
  const { activator } = environment.cluster.eventing;
  dropped.set(name, EVERYTHING);
  for (const { service } of activator.running()) activator.kill(service, 'SIGKILL');
}

/** KubeVirt tries the pod, and the API server cannot ask the guard. */
const untilTriedInVain = ({ history }: Tenant): Promise<void> =>
  history.until('KubeVirt has tried, and was refused', () =>
    history.of(EVENTS).some(({ message }) => rawText(message).includes('failed calling webhook')),
  );

async function untilExpired({ history }: Tenant): Promise<void> {
  const end = Date.parse(history.locks()[0]?.expiresAt ?? '');
  await askUntil(
    'the lock is past its time',
    async () => (await environment.admin.get(NAMESPACES, { name: 'default' })).date.getTime(),
    (now) => now > end,
  );
}

/** No failure, no time against the lock budget: so nothing delays the next lock. */
async function expectNotCharged(tenant: Tenant): Promise<void> {
  const { history } = tenant;
  await history.until('the first lock is over', () => history.lockedPeriods()[0]?.until !== undefined);
  await tenant.untilThrough();
  const records = history
    .versions()
    .filter(({ kind }) => kind === NAMESPACES.kind)
    .flatMap(({ object }) => object.metadata.annotations?.[ANNOTATION.lastAttempt] ?? [])
    .map((text) => JSON.parse(text) as Attempt);
  const charged = records.filter(({ failures, locked }) => failures > 0 || locked.some(({ ms }) => ms > 0));
  expect(charged).toEqual([]);
  expect(history.locks().length).toBeLessThanOrEqual(2);
  await expectQuiescent(environment.admin, tenant);
}

describe('not charged', () => {
  test('the guard, the functions and the webhook were dead while raised, and KubeVirt tried (a node’s reboot)', async () => {
    const tenant = await raisedWithoutKubeVirt('rebooted');
    await environment.cluster.killGuard();
    killFunctions(tenant);
    await environment.cluster.startKubeVirt();
    await untilTriedInVain(tenant);
    await untilExpired(tenant);
    dropped.clear();
    await environment.cluster.startGuard();
    await expectNotCharged(tenant);
  });

  test('the guard was killed while raised, and is back while KubeVirt sleeps in its back-off', async () => {
    const tenant = await raisedWithoutKubeVirt('guard-killed');
    await environment.cluster.killGuard();
    await environment.cluster.startKubeVirt();
    await untilTriedInVain(tenant);
    await environment.cluster.stopKubeVirt();
    await environment.cluster.startGuard();
    await tenant.untilUnlocked();
    await environment.cluster.startKubeVirt();
    await expectNotCharged(tenant);
  });

  test('every process was killed while raised', async () => {
    const tenant = await raisedWithoutKubeVirt('all-killed');
    await environment.cluster.killGuard();
    killFunctions(tenant);
    await untilExpired(tenant);
    dropped.clear();
    await environment.cluster.startKubeVirt();
    await environment.cluster.startGuard();
    await expectNotCharged(tenant);
  });

  test('KubeVirt was stopped while raised, and no other lock is taken until it is back', async () => {
    const tenant = await raisedWithoutKubeVirt('kubevirt-stopped');
    await tenant.untilUnlocked();
    await environment.lines.until('the next look waits for KubeVirt', () =>
      environment.lines.items.some(
        (line) => line.namespace === tenant.name && line.reason === REASON.kubevirtAway,
      ),
    );
    expect(tenant.history.locks()).toHaveLength(1);
    await environment.cluster.startKubeVirt();
    await expectNotCharged(tenant);
  });
});
