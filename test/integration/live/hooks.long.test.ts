import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Job } from '../../../functions/domain/live/run-snapshot.ts';
import { HOOKS, JOBS, SERVICE_ACCOUNTS } from '../../../functions/kubernetes/live-resources.ts';
import { VMS } from '../../cluster/kubevirt/objects.ts';
import { askUntil } from '../../support/eventually.ts';
import { conditionsOf, type Crossing } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

const STEPS = ['PreHook', 'PostHook'] as const;

async function planWithHooks(crossing: Crossing, namespace: string): Promise<void> {
  await crossing.createVm('web');
  const hooks = STEPS.map((step) => ({ step, hook: { namespace, name: step.toLowerCase() } }));
  await crossing.createPlan([{ name: 'web', hooks }]);
  for (const { hook } of hooks)
    await crossing.admin.create(HOOKS, {
      metadata: hook,
      spec: { image: 'registry.example/hook', deadline: 300 },
    });
}

/** The Jobs so far, oldest first. */
async function jobsIn(crossing: Crossing, namespace: string): Promise<readonly Job[]> {
  const { items } = await crossing.admin.list(JOBS, { namespace });
  const orderOf = ({ metadata }: Job): string => `${metadata.creationTimestamp} ${metadata.resourceVersion}`;
  return items.toSorted((one, other) => orderOf(one).localeCompare(orderOf(other)));
}

/** What the Job's controller says in the end. */
async function endJob(crossing: Crossing, job: Job, end: 'Complete' | 'Failed'): Promise<void> {
  const now = new Date().toISOString().replace(/\.\d+/, '');
  const types = end === 'Complete' ? ['SuccessCriteriaMet', 'Complete'] : ['FailureTarget', 'Failed'];
  const conditions = types.map((type) => ({
    ...{ type, status: 'True', lastTransitionTime: now },
    ...(end === 'Failed' && { reason: 'BackoffLimitExceeded', message: 'it did not work' }),
  }));
  const over = end === 'Complete' ? { succeeded: 1, completionTime: now } : { failed: 1 };
  const { namespace = '', name } = job.metadata;
  await crossing.admin.patch(
    JOBS,
    { namespace, name },
    { merge: { status: { startTime: now, conditions, ...over } }, subresource: 'status' },
  );
}

const untilJobs = async (crossing: Crossing, namespace: string, count: number): Promise<Job> => {
  await crossing.until(`there are ${String(count)} Jobs`, async () => {
    return (await jobsIn(crossing, namespace)).length === count;
  });
  const jobs = await jobsIn(crossing, namespace);
  return jobs.at(-1) as Job;
};

test('a PreHook runs before anything moves; a PostHook that fails keeps the VM on the target', async () => {
  await crossings.within('hooks', async (crossing) => {
    const namespace = 'plans-hooks';
    await planWithHooks(crossing, namespace);
    await crossing.createMigrationAs();
    const pre = await untilJobs(crossing, namespace, 1);
    const { admin, namespace: there } = crossing.side('target');
    expect((await admin.list(VMS, { namespace: there })).items).toEqual([]);
    // Another look makes no second Job.
    await crossing.sweep();
    expect(await jobsIn(crossing, namespace)).toHaveLength(1);
    await endJob(crossing, pre, 'Complete');

    const post = await untilJobs(crossing, namespace, 2);
    expect(post.metadata.name).not.toBe(pre.metadata.name);
    await endJob(crossing, post, 'Failed');
    const migration = await crossing.untilEnded();
    expect(conditionsOf(migration)).toContain('Failed');
    expect(JSON.stringify(migration.status)).toContain('of the PostHook failed: it did not work');
    await askUntil(
      'the VM runs on the target',
      () => admin.get(VMS, { namespace: there, name: 'web' }),
      ({ object }) => object.status?.printableStatus === 'Running',
    );
  });
});

test('a hook whose service account is missing keeps the plan from running until it is there', async () => {
  await crossings.within('account', async (crossing) => {
    const namespace = 'plans-account';
    await planWithHooks(crossing, namespace);
    const at = { namespace, name: 'prehook' };
    await crossing.admin.patch(HOOKS, at, { merge: { spec: { serviceAccount: 'runner' } } });
    await crossing.sweep('Plan');
    expect(conditionsOf(await crossing.plan())).toContain('HookServiceAccountNotValid');
    await crossing.admin.create(SERVICE_ACCOUNTS, { metadata: { namespace, name: 'runner' } });
    await crossing.sweep('Plan');
    expect(conditionsOf(await crossing.plan())).toEqual(['Ready']);
  });
});

test('a PreHook that fails moves nothing', async () => {
  await crossings.within('prehook', async (crossing) => {
    const namespace = 'plans-prehook';
    await planWithHooks(crossing, namespace);
    await crossing.createMigrationAs();
    await endJob(crossing, await untilJobs(crossing, namespace, 1), 'Failed');
    const migration = await crossing.untilEnded();
    expect(conditionsOf(migration)).toContain('Failed');
    const { admin, namespace: there } = crossing.side('target');
    expect((await admin.list(VMS, { namespace: there })).items).toEqual([]);
    expect(await jobsIn(crossing, namespace)).toHaveLength(1);
  });
});
