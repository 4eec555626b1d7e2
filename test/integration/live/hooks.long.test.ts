import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Job } from '../../../functions/domain/live/kubevirt.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import {
  CONFIG_MAPS,
  HOOKS,
  JOBS,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../../functions/kubernetes/live-resources.ts';
import { EVENTS } from '../../../functions/kubernetes/resources.ts';
import { VMS } from '../../cluster/kubevirt/objects/objects.ts';
import { removeClaims } from '../../support/live/claims.ts';
import { conditionsOf, type Crossing, type VmDetails, untilRunning } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const STEPS = ['PreHook', 'PostHook'] as const;

async function planWithHooks(crossing: Crossing, namespace: string, details: VmDetails = {}): Promise<void> {
  await crossing.createVm('web', details);
  const hooks = STEPS.map((step) => ({ step, hook: { namespace, name: step.toLowerCase() } }));
  await crossing.createPlan([{ name: 'web', hooks }]);
  for (const { hook } of hooks)
    await crossing.admin.create(HOOKS, {
      metadata: crossing.written(hook.name),
      spec: { image: 'registry.example/hook', playbook: base64('- hosts: localhost'), deadline: 300 },
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
  await crossing.until(`there are ${String(count)} Jobs, and each was started`, async () => {
    const made = await jobsIn(crossing, namespace);
    return made.length === count && made.every(({ spec }) => spec?.suspend === false);
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
    await crossing.resync();
    expect(await jobsIn(crossing, namespace)).toHaveLength(1);
    await endJob(crossing, pre, 'Complete');

    const post = await untilJobs(crossing, namespace, 2);
    expect(post.metadata.name).not.toBe(pre.metadata.name);
    await endJob(crossing, post, 'Failed');
    const migration = await crossing.untilEnded();
    expect(conditionsOf(migration)).toContain('Failed');
    expect(JSON.stringify(migration.status)).toContain('of the PostHook failed: it did not work');
    expect((await untilRunning(admin, { namespace: there, name: 'web' })).spec.runStrategy).toBe('Always');
  });
});

test('a hook whose service account is missing keeps the plan from running until it is there', async () => {
  await crossings.within('account', async (crossing) => {
    const namespace = 'plans-account';
    await planWithHooks(crossing, namespace);
    const at = { namespace, name: 'prehook' };
    await crossing.admin.patch(HOOKS, at, { merge: { spec: { serviceAccount: 'runner' } } });
    await crossing.resync('Plan');
    expect(conditionsOf(await crossing.plan())).toContain('HookServiceAccountNotValid');
    await crossing.admin.create(SERVICE_ACCOUNTS, { metadata: { namespace, name: 'runner' } });
    await crossing.resync('Plan');
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

const CANARY = 'canary-password';

/** In its own text and in a Secret that it names. */
const keepsCanary: NonNullable<VmDetails['change']> = (vm) => {
  const { template } = vm.spec;
  const volumes = [
    ...template.spec.volumes,
    { name: 'init', cloudInitNoCloud: { userData: CANARY } },
    { name: 'login', secret: { secretName: 'login' } },
  ];
  const spec = { ...template.spec, volumes };
  return { ...vm, spec: { ...vm.spec, template: { ...template, spec } } };
};

test('nothing that a run says, or makes on the hub, has what a VM keeps secret', async () => {
  await crossings.within('canary', async (crossing) => {
    const namespace = 'plans-canary';
    const [source, target] = [crossing.side('source'), crossing.side('target')];
    const secretIn = (side: typeof source, password: string): Promise<unknown> =>
      side.admin.create(SECRETS, {
        metadata: { namespace: side.namespace, name: 'login' },
        data: { password: base64(password) },
      });
    await secretIn(source, CANARY);
    await secretIn(target, 'another');
    await planWithHooks(crossing, namespace, { change: keepsCanary });
    await crossing.createMigrationAs();
    await endJob(crossing, await untilJobs(crossing, namespace, 1), 'Complete');
    const stopRemoving = removeClaims(target);
    const refused = await crossing.untilEnded().finally(stopRemoving);
    expect(JSON.stringify(refused.status)).toContain('Secret login on the target differs in');

    await target.admin.delete(SECRETS, { namespace: target.namespace, name: 'login' });
    await crossing.createMigrationAs(undefined, 'move-2');
    await endJob(crossing, await untilJobs(crossing, namespace, 2), 'Complete');
    await endJob(crossing, await untilJobs(crossing, namespace, 3), 'Complete');
    const moved = await crossing.untilEnded();
    expect(conditionsOf(moved)).toContain('Succeeded');
    const copied = await target.admin.get(SECRETS, { namespace: target.namespace, name: 'login' });
    expect(copied.object.data).toEqual({ password: base64(CANARY) });

    const kinds: ResourceType[] = [CONFIG_MAPS, JOBS, EVENTS];
    const made = await Promise.all(kinds.map((type) => crossing.admin.list(type, { namespace })));
    const said = JSON.stringify([
      crossing.lines,
      crossing.posted,
      refused,
      moved,
      await crossing.plan(),
      made,
    ]);
    expect(said).toContain('workload.yml');
    for (const secret of [CANARY, base64(CANARY)]) expect(said).not.toContain(secret);
  });
});
