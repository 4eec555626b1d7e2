import { describe, expect, test } from '@jest/globals';
import { conditionsOf, HELD, ModelledRun } from './modelled-run.ts';
import type { PlanMigration } from '../../../functions/domain/live/forklift.ts';
import { LIVE_ANNOTATION, LIVE_FINALIZER } from '../../../functions/domain/live/names.ts';

test('a Migration whose plan is not Ready for an hour has failed, and moves nothing when it is', async () => {
  const run = await ModelledRun.prepare();
  await run.sweep();
  expect(conditionsOf((await run.migration()).status)).toEqual(['PlanNotReady NotFound']);
  run.wait(3_599);
  await run.sweep();
  expect((await run.migration()).status).not.toHaveProperty('completed');
  run.wait(1);
  await run.sweep();
  const { status, metadata } = await run.migration();
  expect(conditionsOf(status)).toEqual(['PlanNotReady NotFound', 'Failed']);
  expect(status?.message).toMatch(
    /^too late: The `plan` does not have Ready condition. See the conditions of Plan plan/,
  );
  await run.sweep();
  expect((await run.migration()).metadata.resourceVersion).toBe(metadata.resourceVersion);
  expect(await run.held()).toEqual([]);
  expect(await run.isRecorded()).toBe(false);
});

describe('a run that is about to begin', () => {
  test('whose user is not known does not begin', async () => {
    const run = await ModelledRun.prepareReady();
    await run.sweep();
    expect(conditionsOf((await run.migration()).status)).toEqual(['NotAllowed Forbidden']);
    expect(await run.held()).toEqual([]);
    expect(await run.isRecorded()).toBe(false);
  });

  test('holds everything before it shows that it has begun, and before it writes anything on the source', async () => {
    const run = await ModelledRun.prepareReady();
    const requester = JSON.stringify({ user: 'tom', groups: [] });
    await run.patchMigration({ metadata: { annotations: { [LIVE_ANNOTATION.requester]: requester } } });
    const { store } = run.models.hub;
    const heldNow = (): number =>
      ['Migration', 'Plan', 'Provider', 'Secret']
        .flatMap((kind) => store.list(kind, 'tenant'))
        .filter(({ metadata }) => metadata.finalizers?.includes(LIVE_FINALIZER)).length;
    const heldAt: Record<string, number> = {};
    store.onChange(({ object }) => {
      const { status } = object as Partial<PlanMigration>;
      if (object.kind === 'Migration' && status?.started !== undefined) heldAt['started'] ??= heldNow();
    });
    run.refusesPut = () => {
      heldAt['written'] ??= heldNow();
      return undefined;
    };
    await run.sweep();
    expect(heldAt).toEqual({ started: HELD.length, written: HELD.length });
    expect(await run.isRecorded()).toBe(true);
  });
});

test.each([
  ['its event comes', 'changed'],
  ['its event is lost, and the guard looks at it', 'sweep'],
] as const)(
  'an interrupted beginning, not Ready for an hour, holds nothing after its end: %s',
  async (...[, act]) => {
    const run = await ModelledRun.prepare();
    await run.hold('migration', 'plan', 'source');
    await run.sweep();
    run.wait(3_600);
    await run.sweep();
    await run[act]('Migration');
    expect(conditionsOf((await run.migration()).status)).toContain('Failed');
    expect(await run.held()).toEqual([]);
  },
);
