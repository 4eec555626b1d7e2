import { beforeEach, expect, test } from '@jest/globals';
import { aMigration, aTarget } from '../../test/support/builders/kubevirt.ts';
import { aLock } from '../../test/support/builders/namespace.ts';
import { NOW, seconds } from '../../test/support/builders/object.ts';
import { aGrant, aQuota, holding, raisedFor } from '../../test/support/builders/quota.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { KIND, LOCK_OUTCOME, REASON } from '../domain/names.ts';
import type { KubernetesEvent } from '../domain/objects.ts';
import type { StepContext } from '../host/step.ts';
import { report } from './report.ts';

let created: KubernetesEvent[];
beforeEach(() => {
  created = [];
});

/** The context of a process whose time of day is `clock`. */
const contextAt = (clock: number): StepContext =>
  ({
    cluster: {
      create: (_: unknown, event: KubernetesEvent) => {
        created.push(event);
        return Promise.resolve({ object: event });
      },
    },
    clock: { now: () => new Date(clock) },
    log: () => undefined,
  }) as unknown as StepContext;

test.each([
  ['by the clocks of two processes', 0, 98, '98 ms'],
  ['as long as a second allows', 1_000, 1_998, '1998 ms'],
  ['a clock that is behind', 0, -1, 'less than 1 s'],
  ['a clock that is a minute ahead', 1_000, 60_098, 'less than 2 s'],
  ['for longer', 9_000, 9_400, '9 s'],
])('how long a quota was raised, %s', async (_, dateMs, clockMs, want) => {
  const lock = aLock();
  const clockAt = new Date(NOW + 7_000_000).toISOString();
  const quota = holding(aGrant({ raisedAt: seconds(0), clockAt }))(aQuota());
  const task = { token: lock.token, outcome: LOCK_OUTCOME.admitted, lock, isLockCurrent: true };
  const lowering = { task, quotas: [quota], targets: [], now: NOW + dateMs, reason: REASON.admitted };
  await report({ ...lowering, message: 'done' }, 'tenant', contextAt(NOW + 7_000_000 + clockMs));
  expect(created[0]?.message).toBe(
    `done; ResourceQuota quota was raised for ${want} (requests.cpu 1405m → 2605m) and restored`,
  );
});

test('in a lock that failed, the migration that got its pod is not reported as blocked', async () => {
  const need = { 'requests.cpu': '2010m', 'requests.memory': '2825657728' };
  const [first] = aLock().migrations;
  if (first === undefined) throw new Error('the lock has no migration');
  const lock = aLock({
    migrations: [first, { name: 'mig1', uid: 'uid-of-mig1', vmi: 'uid-of-vm1' }],
    quotas: [{ name: 'quota', uid: 'uid-of-quota', need }],
  });
  const task = { token: lock.token, outcome: LOCK_OUTCOME.failed, lock, isLockCurrent: false };
  await report(
    {
      task,
      quotas: [raisedFor(lock, aVmmrq())(aQuota())],
      targets: [aTarget(aMigration())],
      now: NOW + 9_000,
      reason: REASON.raisedButNotAdmitted,
      message: 'the quotas were raised, but KubeVirt created no pod for mig1',
    },
    'tenant',
    contextAt(NOW),
  );
  const onMigrations = created.filter(({ involvedObject }) => involvedObject.kind === KIND.migration.kind);
  const said = onMigrations.map(({ involvedObject, type, reason }) => [involvedObject.name, type, reason]);
  expect(said).toEqual([
    ['mig0', 'Normal', 'MigrationAdmitted'],
    ['mig1', 'Warning', 'MigrationBlocked'],
  ]);
});
