import { expect, test } from '@jest/globals';
import { aPlan, aPlanMigration } from '../../../test/support/builders/live.ts';
import { createdAt, named, seconds, type Change } from '../../../test/support/builders/object.ts';
import type { LiveCondition, PlanMigration } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { LiveRequest } from '../../eventing/live-events.ts';
import type { ResourceType } from '../../kubernetes/cluster.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { LiveContext } from '../context.ts';
import { migrationsOfEvent } from './migrations-of-event.ts';

const inNamespace =
  (namespace: string): Change<PlanMigration> =>
  (one) => ({ ...one, metadata: { ...one.metadata, namespace } });
const ofPlan =
  (name: string, namespace?: string): Change<PlanMigration> =>
  (one) => ({ ...one, spec: { plan: { name, ...(namespace && { namespace }) } } });
const ended: Change<PlanMigration> = (one) => ({
  ...one,
  status: { started: seconds(0), completed: seconds(1) },
});

/** The Migrations that an event of `tenant/first` triggers among these, or one of the Plan `tenant/plan`, which is gone. */
async function triggeredBy(
  first: PlanMigration | undefined,
  others: readonly PlanMigration[],
  kind: 'Migration' | 'Plan' = 'Migration',
): Promise<string[]> {
  const stored: Record<string, KubernetesObject | undefined> = {
    Migration: first,
    Plan:
      kind === 'Plan'
        ? undefined
        : aPlan((plan) => ({ ...plan, spec: { ...plan.spec, archived: true, type: 'cold' } })),
  };
  const hub = {
    get: ({ kind }: ResourceType, { name }: { readonly name: string }) => {
      const object = stored[kind];
      const status = { code: 404, reason: 'NotFound', details: { name } };
      return object === undefined
        ? Promise.reject(new ApiError('get', status, new Date(0)))
        : Promise.resolve({ object, date: new Date(0) });
    },
    list: () => Promise.resolve({ items: others, resourceVersion: '1', date: new Date(0) }),
  };
  const request: LiveRequest = {
    ...{ type: 'update', id: '1', kind, namespace: 'tenant', name: kind === 'Plan' ? 'plan' : 'first' },
    ...{ isChange: true, runs: [] },
  };
  const triggered = await migrationsOfEvent(request, { hub } as unknown as LiveContext);
  return triggered.map(({ namespace, name }) => `${namespace}/${name}`);
}

const OTHERS = [
  aPlanMigration(named('same-plan'), inNamespace('tenant'), ofPlan('plan', 'tenant')),
  aPlanMigration(named('other-plan'), inNamespace('tenant'), ofPlan('other', 'tenant')),
  aPlanMigration(named('from-elsewhere'), inNamespace('infra'), ofPlan('plan', 'tenant')),
  aPlanMigration(named('foreign'), inNamespace('elsewhere'), ofPlan('plan')),
  aPlanMigration(named('runs'), inNamespace('tenant'), ofPlan('plan'), (one) => ({
    ...one,
    status: { started: seconds(0) },
  })),
];

const NEAR = ['tenant/same-plan', 'tenant/other-plan', 'infra/from-elsewhere'];

test.each<[string, PlanMigration | undefined, string[]]>([
  ['is gone triggers those of its namespace, or of a Plan there', undefined, NEAR],
  [
    'has ended triggers the same, and those of its Plan elsewhere',
    aPlanMigration(named('first'), inNamespace('tenant'), ofPlan('plan', 'elsewhere'), ended),
    [...NEAR, 'elsewhere/foreign'],
  ],
])('an event of a Migration that %s', async (_what, first, triggered) => {
  expect((await triggeredBy(first, OTHERS)).toSorted()).toEqual(triggered.toSorted());
});

test('a forged event of a namespace without Migrations triggers none', async () => {
  expect(
    await triggeredBy(
      undefined,
      OTHERS.filter(({ metadata }) => metadata.namespace === 'elsewhere'),
    ),
  ).toEqual([]);
});

const WAITING = Array.from({ length: 100 }, (_, n) =>
  aPlanMigration(named(`m-${String(n)}`), inNamespace('tenant'), createdAt(100 - n)),
);
const FIRST = Array.from({ length: 10 }, (_, n) => `tenant/m-${String(99 - n)}`);

test.each(['Migration', 'Plan'] as const)(
  'of 100 Migrations that wait for a plan, an event of a %s triggers the ten that come first',
  async (kind) => {
    expect(await triggeredBy(undefined, WAITING, kind)).toEqual(FIRST);
  },
);

test('those that run are triggered besides', async () => {
  const running = WAITING.map((one) => ({ ...one, status: { started: seconds(0) } }));
  const all = [...WAITING, aPlanMigration(named('last'), createdAt(200)), ...running];
  expect(await triggeredBy(undefined, all, 'Plan')).toHaveLength(110);
});

test('those that are refused come after the others: anybody may create them', async () => {
  const refused: LiveCondition = {
    ...{ type: LIVE_CONDITION.notAllowed, status: 'True', category: 'Critical' },
    lastTransitionTime: seconds(0),
  };
  const others = WAITING.map((one) => ({ ...one, status: { conditions: [refused] } }));
  const own = aPlanMigration(named('own'), inNamespace('tenant'), createdAt(200));
  expect(await triggeredBy(undefined, [...others, own])).toEqual(['tenant/own', ...FIRST.slice(0, 9)]);
});
