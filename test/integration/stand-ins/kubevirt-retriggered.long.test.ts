import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { FULL_MIGRATIONS } from '../../cluster/kubevirt/objects/objects.ts';
import type { RecordedEvent, Vmim } from '../../cluster/kubevirt/objects/types.ts';
import { recordHistory, type Recording } from '../../support/kubevirt/history.ts';
import {
  createNamespace,
  createQuota,
  migrate,
  runVmi,
  startHarness,
  type Harness,
} from '../../support/kubevirt/harness.ts';

let harness: Harness;

/** Long intervals, so that no timer retries during this test. */
beforeAll(async () => {
  harness = await startHarness({ nodes: ['node1', 'node2'], retryMs: 3_600_000 });
});

afterAll(async () => {
  await harness.stop();
});

const refusals = ({ versions }: Recording): RecordedEvent[] =>
  versions
    .filter(({ kind }) => kind === 'Event')
    .map(({ object }) => object as RecordedEvent)
    .filter(({ reason }) => reason === 'FailedCreate');

test('virt-controller retries a refused migration after any update or deletion of a quota of its namespace', async () => {
  const namespace = 'retriggered';
  const quota = { namespace, name: 'quota' };
  await createNamespace(harness.admin, namespace);
  const recording = await recordHistory(harness.admin, namespace);
  await createQuota(harness.admin, namespace, { pods: '10', 'requests.cpu': '1405m' });
  await runVmi(harness.admin, { namespace, name: 'vm0' });
  await migrate(harness.admin, { namespace, name: 'mig0', vmi: 'vm0' });
  // Two refusals, because the condition for the first one is an update too.
  await recording.until(() => refusals(recording).length === 2);

  await harness.admin.patch(RESOURCE_QUOTAS, quota, {
    merge: { metadata: { annotations: { touched: 'yes' } } },
  });
  await recording.until(() => refusals(recording).length === 3);
  expect(refusals(recording).at(-1)?.message).toMatch(/^Error creating pod: .* exceeded quota: quota/);

  await harness.admin.delete(RESOURCE_QUOTAS, quota);
  // Quota admission may not have seen the change yet, and may refuse this try too.
  await recording.until(
    ({ kind, object }) =>
      (kind === FULL_MIGRATIONS.kind && (object as Vmim).status?.phase === 'Scheduling') ||
      refusals(recording).length === 4,
  );
  await recording.stop();
});
