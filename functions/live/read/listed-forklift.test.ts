import { expect, test } from '@jest/globals';
import { aPlan, aPlanMigration, aProvider, begunWith, held } from '../../../test/support/builders/live.ts';
import {
  annotated,
  build,
  createdAt,
  named,
  seconds,
  type Change,
} from '../../../test/support/builders/object.ts';
import { kept, LONG, oversized } from '../../../test/support/builders/oversized.ts';
import { isGivenUp } from '../run/break-glass.ts';
import { has } from '../../domain/live/conditions.ts';
import type { LiveCondition, Plan, PlanMigration, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION, LIVE_CONDITION } from '../../domain/live/names.ts';
import { migrationBefore } from '../run/queue.ts';
import { requesterOf } from '../../domain/live/requester.ts';
import { isClosed, hasFinalizer, hasOpenRun, isHeldForRun, waitsToStart, needsPlan } from '../run/state.ts';
import { HELD_PROVIDERS, OPEN_MIGRATIONS, plansThatName } from './listed-forklift.ts';

const REQUESTER = JSON.stringify({
  user: 'ann',
  groups: Array.from({ length: 200 }, (_, n) => `group-${n}`),
});
const asked = aPlanMigration(annotated(LIVE_ANNOTATION.requester, REQUESTER));
const status =
  (own: PlanMigration['status']): Change<PlanMigration> =>
  (one) => ({ ...one, status: { ...one.status, ...own } });
const byUid = (annotation: string): Change<PlanMigration> => annotated(annotation, asked.metadata.uid);
const condition = (type: string): LiveCondition => ({
  ...{ type, status: 'True', category: 'Critical', message: LONG, lastTransitionTime: seconds(0) },
});
const vm = (name: string): VmStatus => ({
  ...{ namespace: 'vms', name, targetName: `${name}-moved`, phase: 'Started' },
  pipeline: [{ name: 'Synchronization', description: LONG, progress: { total: 1, completed: 0 } }],
});
const VMS = Array.from({ length: 500 }, (_, index) => vm(`vm-${index}`));

const later = aPlanMigration(named('later'), createdAt(60));

const decided = (migration: PlanMigration): object => ({
  isHeld: hasFinalizer(migration),
  isHeldForRun: isHeldForRun(migration),
  isClosed: isClosed(migration),
  isUnderWay: hasOpenRun(migration),
  isWaiting: waitsToStart(migration),
  isGivenUp: isGivenUp(migration),
  needsPlan: needsPlan(migration),
  isNotReady: has(migration.status, LIVE_CONDITION.planNotReady),
  requester: requesterOf(migration),
  before: migrationBefore(later, aPlan(), [migration])?.metadata.name,
});

test.each<[string, readonly Change<PlanMigration>[]]>([
  ['waits', []],
  ['waits for its plan', [status({ conditions: [condition(LIVE_CONDITION.planNotReady)] })]],
  ['is not allowed', [status({ conditions: [condition(LIVE_CONDITION.notAllowed)] })]],
  ['is about to begin', [held, begunWith()]],
  ['has begun', [held, status({ started: seconds(0), vms: VMS })]],
  ['was given up', [held, status({ started: seconds(0), vms: VMS }), byUid(LIVE_ANNOTATION.breakGlass)]],
  ['has leftovers', [held, status({ started: seconds(0), completed: seconds(1), vms: VMS })]],
  ['is over', [held, status({ completed: seconds(1) }), byUid(LIVE_ANNOTATION.over)]],
])('a Migration that %s is decided about as a whole one', (_what, changes) => {
  const whole = build(asked, changes);
  const [trimmed] = kept(OPEN_MIGRATIONS, [whole]);
  expect(trimmed && decided(trimmed)).toEqual(decided(oversized(whole)));
});

test('that objects are held for its run is kept however long its requester is', () => {
  const requester = annotated(LIVE_ANNOTATION.requester, LONG.slice(0, 15_900));
  const [trimmed] = kept(OPEN_MIGRATIONS, [build(asked, [held, begunWith(), requester])]);
  expect(trimmed && isHeldForRun(trimmed)).toBe(true);
});

test('a Migration that has ended is not listed', () => {
  expect(kept(OPEN_MIGRATIONS, [status({ started: seconds(0), completed: seconds(1) })(asked)])).toEqual([]);
});

test('a Migration is kept in 16 KiB, however long it is', () => {
  const whole = oversized(status({ vms: VMS })(annotated(LIVE_ANNOTATION.over, LONG)(asked)));
  const { size = Infinity } = OPEN_MIGRATIONS.trim(whole) ?? {};
  expect(size).toBeLessThan(16 * 1024);
});

test.each([LIVE_ANNOTATION.breakGlass, LIVE_ANNOTATION.over])(
  'the text of the annotation %s takes no memory: its writer gives any',
  (annotation) => {
    const { size = Infinity } =
      OPEN_MIGRATIONS.trim(aPlanMigration(annotated(annotation, LONG.slice(0, 15_000)))) ?? {};
    expect(size).toBeLessThan(1_024);
  },
);

const AT = { namespace: 'tenant', name: 'source' };
const ELSEWHERE = { namespace: 'elsewhere', name: 'source' };
const plan = aPlan();
const hook = { step: 'PreHook', hook: ELSEWHERE } as const;

const listed = (object: Plan, at: typeof AT): string[] =>
  kept(plansThatName(at), [object]).map(({ metadata }) => metadata.name);

test('the Plans that name an object are listed', () => {
  const hooked = aPlan((one) => ({ ...one, spec: { ...one.spec, vms: [{ hooks: [hook] }] } }));
  expect([listed(plan, AT), listed(hooked, ELSEWHERE)]).toEqual([['plan'], ['plan']]);
});

test('those that name one elsewhere, or are not live, are not', () => {
  const cold = aPlan((one) => ({ ...one, spec: { ...one.spec, type: 'cold' } }));
  expect([listed(plan, ELSEWHERE), listed(cold, AT)]).toEqual([[], []]);
});

test('of the Providers those with the finalizer are listed, by name', () => {
  const free = aProvider('free');
  const own = aProvider('own', held);
  const { namespace, uid } = own.metadata;
  expect(kept(HELD_PROVIDERS, [free, own])).toEqual([{ metadata: { namespace, name: 'own', uid } }]);
});
