import { describe, expect, test } from '@jest/globals';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { Unreachable } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { aModel, aPod, usedOf, withTenant, type Model } from './model.ts';
import type { Phase, Point } from './request.ts';

/** The client's result and the stored state when a request fails at one of its phases. */

interface Failing {
  readonly model: Model;
  /** From now on, requests to create pods fail at this phase. */
  readonly failAt: (phase: Phase | undefined) => void;
  readonly points: Point[];
}

async function failing(): Promise<Failing> {
  let at: Phase | undefined;
  const points: Point[] = [];
  const model = await withTenant(
    aModel({
      pace: (point) => {
        points.push(point);
        const fails = point.phase === at && point.kind === 'Pod';
        return fails ? Promise.reject(new Unreachable('the scheduler says so')) : Promise.resolve();
      },
    }),
    { quota: { pods: '5' } },
  );
  points.length = 0;
  return { model, points, failAt: (phase) => (at = phase) };
}

const phasesOf = ({ points }: Failing): string[] => points.map(({ verb, phase }) => `${verb} ${phase}`);

test('a write is suspended at every phase, in order', async () => {
  const setup = await failing();
  await setup.model.admin.create(PODS, aPod('pod'));
  expect(phasesOf(setup)).toEqual(
    ['arrive', 'admit', 'charge', 'commit', 'answer'].map((phase) => `create ${phase}`),
  );
  expect(setup.points[0]).toEqual({
    request: {},
    server: 'server-0',
    user: 'admin',
    verb: 'create',
    kind: 'Pod',
    namespace: 'tenant',
    name: 'pod',
    dryRun: false,
    phase: 'arrive',
  });
});

test('a dry run is neither charged nor stored, and a read skips admission', async () => {
  const setup = await failing();
  await setup.model.admin.create(PODS, aPod('pod'), { dryRun: true });
  await setup.model.admin.get(NAMESPACES, { name: 'tenant' });
  expect(phasesOf(setup)).toEqual([
    'create arrive',
    'create admit',
    'create answer',
    'get arrive',
    'get answer',
  ]);
});

describe('a create that fails', () => {
  test.each<[Phase, { stored: number; used: string }]>([
    ['arrive', { stored: 0, used: '0' }],
    ['admit', { stored: 0, used: '0' }],
    ['commit', { stored: 0, used: '1' }],
    ['answer', { stored: 1, used: '1' }],
  ])('at %s: %j', async (phase, { stored, used }) => {
    const { model, failAt } = await failing();
    failAt(phase);
    await expect(model.admin.create(PODS, aPod('pod'))).rejects.toThrow(Unreachable);
    expect(model.store.list('Pod')).toHaveLength(stored);
    expect(usedOf(model)).toEqual({ pods: used });
  });

  test('at charge makes the server try four times, and answer 500', async () => {
    const setup = await failing();
    setup.failAt('charge');
    await expect(setup.model.admin.create(PODS, aPod('pod'))).rejects.toMatchObject({ code: 500 });
    expect(phasesOf(setup).filter((phase) => phase === 'create charge')).toHaveLength(4);
    expect(usedOf(setup.model)).toEqual({ pods: '0' });
  });
});

test('a charge without its pod stays until the quota controller’s resync', async () => {
  const { model, failAt } = await failing();
  failAt('commit');
  await expect(model.admin.create(PODS, aPod('pod'))).rejects.toThrow(Unreachable);
  await model.untilStable();
  expect(usedOf(model)).toEqual({ pods: '1' });

  model.controller.resync();
  await model.untilStable();
  expect(usedOf(model)).toEqual({ pods: '0' });
});

describe('when another client writes during the admission of a write', () => {
  /** Runs `act` once, the next time that a write is at this phase. */
  async function interrupted(phase: Phase, act: (model: Model) => Promise<unknown>): Promise<Model> {
    let isDone = false;
    const model: Model = aModel({
      pace: async (point) => {
        if (isDone || point.phase !== phase || point.user !== 'late') return;
        isDone = true;
        await act(model);
      },
    });
    return withTenant(model, { quota: { pods: '5' } });
  }

  const annotate = (key: string): { merge: Record<string, unknown> } => ({
    merge: { metadata: { annotations: { [key]: 'x' } } },
  });
  const at = { namespace: 'tenant', name: 'quota' };

  test('a PUT is a Conflict', async () => {
    const model = await interrupted('commit', ({ admin }) =>
      admin.patch(RESOURCE_QUOTAS, at, annotate('first')),
    );
    const { object } = await model.admin.get(RESOURCE_QUOTAS, at);
    const late = model.server
      .as('late')
      .replace(RESOURCE_QUOTAS, { ...object, spec: { hard: { pods: '9' } } });
    await expect(late).rejects.toMatchObject({ code: 409, reason: 'Conflict' });
    expect(model.store.get<ResourceQuota>({ kind: 'ResourceQuota', ...at })?.spec.hard).toEqual({
      pods: '5',
    });
  });

  test('the server applies a patch again to the new object', async () => {
    const model = await interrupted('commit', ({ admin }) =>
      admin.patch(RESOURCE_QUOTAS, at, annotate('first')),
    );
    await model.server.as('late').patch(RESOURCE_QUOTAS, at, annotate('second'));
    expect(model.store.get({ kind: 'ResourceQuota', ...at })?.metadata.annotations).toEqual({
      first: 'x',
      second: 'x',
    });
  });

  test('a DELETE removes the new object, unless its preconditions fail', async () => {
    const model = await interrupted('commit', ({ admin }) =>
      admin.patch(RESOURCE_QUOTAS, at, annotate('first')),
    );
    const { resourceVersion } = (await model.admin.get(RESOURCE_QUOTAS, at)).object.metadata;
    const late = model.server.as('late');
    await expect(
      late.delete(RESOURCE_QUOTAS, at, { preconditions: { resourceVersion } }),
    ).rejects.toMatchObject({ code: 409 });
    await late.delete(RESOURCE_QUOTAS, at);
    expect(model.store.list('ResourceQuota')).toEqual([]);
  });

  test('a pod that was admitted before the deletion of its namespace is stored', async () => {
    const model = await interrupted('commit', ({ admin }) => admin.delete(NAMESPACES, { name: 'tenant' }));
    await model.server.as('late').create(PODS, aPod('pod'));
    expect(model.store.list('Pod')).toHaveLength(1);
  });
});

test('the client cannot change an object that it read', async () => {
  const { admin } = await withTenant(aModel(), { quota: { pods: '5' } });
  const { object } = await admin.get(RESOURCE_QUOTAS, { namespace: 'tenant', name: 'quota' });
  expect(() => {
    (object.spec.hard ?? {})['pods'] = '9';
  }).toThrow(TypeError);
});
