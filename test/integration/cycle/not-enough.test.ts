import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { EVENT_REASON } from '../../../functions/domain/names.ts';
import type { Condition } from '../../../functions/domain/objects.ts';
import { describeQuantity, parseQuantity } from '../../../functions/domain/quantity.ts';
import { EVENTS, MIGRATIONS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../cluster/kubevirt/objects/objects.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import type { History } from '../../support/tenant/history.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant, type Tenant, type TenantOptions } from '../../support/tenant/tenant.ts';
import { rawText } from '../../support/raw-text.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  // Long enough for a lock that is held while virt-controller learns of another overhead.
  environment = await startTestEnvironment({ env: { LOCK_SECONDS: '30' } });
});

afterEach(async () => {
  await environment.admin.delete(FULL_KUBEVIRTS, { namespace: 'kubevirt', name: 'kubevirt' });
});

afterAll(async () => {
  await environment.stop();
});

/** The memory that a launcher requests (support/tenant.ts), and the headroom of a quota with one VM. */
const BYTES = 1_412_828_864;
const LEFT = 600 * 1_024 ** 2;

const REQUESTED = /exceeded quota: quota, requested: \S*requests\.memory=(\d+)/;

/** The memory that virt-controller requested, for each refusal. */
const requested = (history: History): number[] =>
  history.of(EVENTS).flatMap(({ message }) => Number(REQUESTED.exec(rawText(message))?.[1] ?? []));

/** A migration whose target pod starts to need more memory only after the namespace is locked. */
async function grown(options: Omit<TenantOptions, 'vms' | 'quotas'>): Promise<Tenant> {
  const tenant = await newTenant(environment, { ...options, by: { raisePolicy: 'Exact' } });
  const { history, name } = tenant;
  const raise = environment.hold(name, 'mtq-raise');
  await tenant.migrate();
  await history.until('it is locked', () => history.isLocked());
  await environment.admin.create(FULL_KUBEVIRTS, newKubeVirt({ additionalGuestMemoryOverheadRatio: '1.5' }));
  await untilMoreIsAskedFor(tenant);
  raise();
  return tenant;
}

/** Makes virt-controller try again: it does so whenever the migration changes. */
async function untilMoreIsAskedFor({ name, history }: Tenant): Promise<void> {
  while (!requested(history).some((bytes) => bytes > BYTES)) {
    const before = requested(history).length;
    const merge = { metadata: { annotations: { 'look-again': String(before) } } };
    await environment.admin.patch(MIGRATIONS, { namespace: name, name: 'mig0' }, { merge });
    await history.until('it is refused once more', () => requested(history).length > before);
  }
}

const conditionOf = (history: History, type: string): Condition | undefined =>
  history.latest(VMMRQS)?.status?.conditions?.find((condition) => condition.type === type);

test('a pod larger than expected, with enough allowance: lowers, then raises again by what the pod requests', async () => {
  const tenant = await grown({ name: 'larger', gives: { 'requests.cpu': '1', 'requests.memory': '4Gi' } });
  const { history } = tenant;
  await history.until('it is through, and nothing is locked', () =>
    [tenant.migration()?.status?.phase === 'Succeeded', !history.isLocked()].every(Boolean),
  );
  const needs = history.locks().map(({ quotas }) => quotas[0]?.need?.['requests.memory']);
  expect(needs).toEqual([String(BYTES), String(Math.max(...requested(history)))]);
  await expectAsBefore(environment.admin, tenant, { failed: true });
});

test('a pod larger than expected, with too little allowance: lowers, reports the shortfall, and makes no further attempt', async () => {
  const gives = { 'requests.cpu': '605m', 'requests.memory': String(BYTES - LEFT) };
  const tenant = await grown({ name: 'too-large', gives });
  const { history } = tenant;
  await history.until('the VMMRQ says that it is not enough', () =>
    [conditionOf(history, 'NotEnough')?.status === 'True', !history.isLocked()].every(Boolean),
  );
  const missing = Math.max(...requested(history)) - BYTES;
  const more = new RegExp(
    `requests\\.memory=.*, which is ${describeQuantity('requests.memory', amount(missing))} too little`,
  );
  expect(conditionOf(history, 'NotEnough')?.message).toMatch(more);
  expect(conditionOf(history, 'RaisedButNotAdmitted')?.message).toMatch(
    /\nmig0: ResourceQuota quota refused its pod \(/,
  );
  await history.until('an Event on the VMI says so too', () =>
    history
      .of(EVENTS)
      .some(({ involvedObject, reason, message }) =>
        [
          involvedObject.name === 'vm0',
          reason === EVENT_REASON.quotaNotEnough,
          more.test(rawText(message)),
        ].every(Boolean),
      ),
  );
  await environment.cluster.eventing.broker.idle();
  expect(history.locks()).toHaveLength(1);
  await expectAsBefore(environment.admin, tenant, { failed: true });
});

const amount = (bytes: number): bigint => parseQuantity(String(bytes));
