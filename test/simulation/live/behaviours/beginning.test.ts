import { describe, expect, test } from '@jest/globals';
import { conditionsOf, HELD, ModelledRun } from '../world/modelled-run.ts';
import type { PlanMigration } from '../../../../functions/domain/live/forklift.ts';
import { LIVE_ANNOTATION, LIVE_FINALIZER } from '../../../../functions/domain/live/names.ts';
import { isHeldForRun } from '../../../../functions/live/run/state.ts';
import { seconds } from '../../../support/builders/object.ts';
import { PLAN_MIGRATIONS, REVIEWS } from '../../../../functions/kubernetes/live-resources.ts';

test('a Migration whose plan is not Ready for an hour has failed, and moves nothing when it is', async () => {
  const run = await ModelledRun.prepare();
  await run.resync();
  expect(conditionsOf((await run.migration()).status)).toEqual(['PlanNotReady NotFound']);
  run.wait(3_599);
  await run.resync();
  expect((await run.migration()).status).not.toHaveProperty('completed');
  run.wait(1);
  await run.resync();
  const { status, metadata } = await run.migration();
  expect(conditionsOf(status)).toEqual(['PlanNotReady NotFound', 'Failed']);
  expect(status?.message).toMatch(
    /^too late: The `plan` does not have Ready condition. See the conditions of Plan plan/,
  );
  await run.resync();
  expect((await run.migration()).metadata.resourceVersion).toBe(metadata.resourceVersion);
  expect(await run.held()).toEqual([]);
  expect(await run.isRecorded()).toBe(false);
});

describe('a run that is about to begin', () => {
  test('whose user is not known does not begin', async () => {
    const run = await ModelledRun.prepareReady();
    await run.patchMigration({ metadata: { annotations: { [LIVE_ANNOTATION.requester]: null } } });
    await run.resync();
    expect(conditionsOf((await run.migration()).status)).toEqual(['NotAllowed Forbidden']);
    expect(await run.held()).toEqual([]);
    expect(await run.isRecorded()).toBe(false);
  });

  test('which is older than the guard’s webhook does not begin: anybody may have written its user', async () => {
    const run = await ModelledRun.prepareReady();
    run.wait(60);
    await run.hub.delete(REVIEWS.type, REVIEWS.at);
    await run.hub.create(REVIEWS.type, { metadata: REVIEWS.at });
    await run.resync();
    expect(conditionsOf((await run.migration()).status)).toEqual(['NotAllowed Forbidden']);
    expect(await run.isRecorded()).toBe(false);
  });

  test('holds everything before it shows that it has begun, and before it writes anything on the source', async () => {
    const run = await ModelledRun.prepareReady();
    const { store } = run.models.hub;
    const heldNow = (): number =>
      ['Migration', 'Plan', 'Provider', 'Secret']
        .flatMap((kind) => store.list(kind, 'tenant'))
        .filter(({ metadata }) => metadata.finalizers?.includes(LIVE_FINALIZER)).length;
    const heldAt: Record<string, number> = {};
    let isAlwaysForRun = true;
    store.onChange(({ object }) => {
      const { status } = object as Partial<PlanMigration>;
      // Otherwise the end of another run would let go what this one needs.
      if (object.kind === 'Migration') isAlwaysForRun &&= isHeldForRun(object as PlanMigration);
      if (object.kind === 'Migration' && status?.started !== undefined) heldAt['started'] ??= heldNow();
    });
    run.refusesPut = () => {
      heldAt['written'] ??= heldNow();
      return undefined;
    };
    await run.resync();
    expect(heldAt).toEqual({ started: HELD.length, written: HELD.length });
    expect(isAlwaysForRun).toBe(true);
    expect(await run.isRecorded()).toBe(true);
  });
});

test.each([
  ['its event comes', 'changed'],
  ['its event is lost, and the guard looks at it', 'resync'],
] as const)(
  'an interrupted beginning, not Ready for an hour, holds nothing after its end: %s',
  async (...[, act]) => {
    const run = await ModelledRun.prepare();
    await run.hold('migration', 'plan', 'source');
    await run.resync();
    run.wait(3_600);
    await run.resync();
    await run[act]('Migration');
    expect(conditionsOf((await run.migration()).status)).toContain('Failed');
    expect(await run.held()).toEqual([]);
  },
);

describe('a Migration of a plan whose first one', () => {
  /** The first one has begun, and shows this. */
  async function behind(status: Record<string, unknown>): Promise<ModelledRun> {
    const run = await ModelledRun.start();
    const first = await run.migration();
    run.wait(1);
    const { annotations = {} } = first.metadata;
    await run.hub.create(PLAN_MIGRATIONS, { metadata: { ...SECOND, annotations }, spec: first.spec });
    const { namespace = '', name } = first.metadata;
    await run.hub.patch(PLAN_MIGRATIONS, { namespace, name }, { merge: { status }, subresource: 'status' });
    await run.resync('Migration', SECOND.name);
    return run;
  }

  const shownAfter = async (run: ModelledRun, seconds: number): Promise<string[]> => {
    run.wait(seconds);
    await run.resync('Migration', SECOND.name);
    const { status } = (await run.hub.get(PLAN_MIGRATIONS, SECOND)).object;
    const messages = (status?.conditions ?? []).map(({ message }) => message ?? '');
    expect(messages[0]).toContain('Migration tenant/migration');
    return conditionsOf(status);
  };

  test('moves VMs says that it waits, for as long as that takes', async () => {
    const run = await behind({});
    expect(await shownAfter(run, 36_000)).toEqual(['Waiting WaitingToStart']);
  });

  test('has left something over says so, and has failed after an hour', async () => {
    const failed = {
      type: 'Failed',
      status: 'True',
      category: 'Advisory',
      items: ['VirtualMachine target/web'],
    };
    const vms = [{ name: 'web', phase: 'Completed', pipeline: [], conditions: [failed] }];
    const run = await behind({ completed: seconds(1), vms });
    expect(await shownAfter(run, 3_599)).toEqual(['PlanNotReady LeftOver']);
    expect(await shownAfter(run, 1)).toEqual(['PlanNotReady LeftOver', 'Failed']);
  });
});

const SECOND = { namespace: 'tenant', name: 'second' };
