import { expect, test } from '@jest/globals';
import { aMigration, aTarget } from '../../test/support/builders/kubevirt.ts';
import { aLock } from '../../test/support/builders/namespace.ts';
import { NOW } from '../../test/support/builders/object.ts';
import { aQuota, raisedFor } from '../../test/support/builders/quota.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { KIND, LOCK_OUTCOME, REASON } from '../domain/names.ts';
import type { KubernetesEvent } from '../domain/objects.ts';
import type { StepContext } from '../host/step.ts';
import { report } from './report.ts';

test('in a lock that failed, the migration that got its pod is not reported as blocked', async () => {
  const need = { 'requests.cpu': '2010m', 'requests.memory': '2825657728' };
  const [first] = aLock().migrations;
  if (first === undefined) throw new Error('the lock has no migration');
  const lock = aLock({
    migrations: [first, { name: 'mig1', uid: 'uid-of-mig1', vmi: 'uid-of-vm1' }],
    quotas: [{ name: 'quota', uid: 'uid-of-quota', need }],
  });
  const created: KubernetesEvent[] = [];
  const context = {
    cluster: {
      create: (_: unknown, event: KubernetesEvent) => {
        created.push(event);
        return Promise.resolve({ object: event });
      },
    },
    clock: { now: () => new Date(NOW) },
    log: () => undefined,
  } as unknown as StepContext;
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
    context,
  );
  const onMigrations = created.filter(({ involvedObject }) => involvedObject.kind === KIND.migration.kind);
  const said = onMigrations.map(({ involvedObject, type, reason }) => [involvedObject.name, type, reason]);
  expect(said).toEqual([
    ['mig0', 'Normal', 'MigrationAdmitted'],
    ['mig1', 'Warning', 'MigrationBlocked'],
  ]);
});
