import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aHardList, amountOf, aVmmrqList } from '../../../test/support/builders/arbitraries.ts';
import { aLock } from '../../../test/support/builders/namespace.ts';
import { NOW } from '../../../test/support/builders/object.ts';
import { aGrant, aQuota, enforced, hard, used } from '../../../test/support/builders/quota.ts';
import { aVmmrq, giving } from '../../../test/support/builders/snapshot.ts';
import { allowanceFrom } from './allowance.ts';
import { grantOf } from './grant.ts';
import { isCharged, isUndone, needsMore, raisedAgain, raisedQuota, type RaiseOrder } from './raise.ts';
import { ANNOTATION, LABEL } from '../names.ts';
import type { ResourceQuota, Vmmrq } from '../objects.ts';

const order = (different: Partial<RaiseOrder> = {}): RaiseOrder => ({
  lock: aLock(),
  vmmrqs: [aVmmrq()],
  now: NOW,
  ...different,
});
const fixed = (vmmrq: Vmmrq): Vmmrq => ({ ...vmmrq, spec: { ...vmmrq.spec, raisePolicy: 'Fixed' } });
const hardOf = (quota: ResourceQuota | undefined): object | undefined => quota?.status?.hard;

describe('raisedQuota', () => {
  test('raises, and keeps the original in the same object (F2)', () => {
    const raised = raisedQuota(aQuota(), order());
    expect(hardOf(raised)).toMatchObject({ 'requests.cpu': '2605m' });
    expect(raised?.spec).toEqual(aQuota().spec);
    expect(raised?.metadata.labels).toEqual({ [LABEL.raised]: 'true' });
    expect(Object.keys(raised?.metadata.annotations ?? {})).toEqual([
      ANNOTATION.grant,
      ANNOTATION.migrations,
    ]);
  });

  test('the grant has both clocks, for the report of how long it stood', () => {
    const raised = raisedQuota(aQuota(), order({ clock: NOW + 42 }));
    expect(raised && grantOf(raised)).toMatchObject({
      grant: { raisedAt: new Date(NOW).toISOString(), clockAt: new Date(NOW + 42).toISOString() },
    });
  });

  test('several VMMRQs add up (F10)', () => {
    const vmmrqs = [aVmmrq(giving({ cpu: '1' })), aVmmrq(giving({ 'requests.cpu': '500m' }))];
    expect(hardOf(raisedQuota(aQuota(), order({ vmmrqs })))).toMatchObject({ 'requests.cpu': '2905m' });
  });

  test('no more than the API server stores', () => {
    const vmmrqs = [aVmmrq(giving({ 'requests.cpu': '16Ei' }), fixed)];
    const raised = raisedQuota(aQuota(), order({ vmmrqs }));
    expect(hardOf(raised)).toMatchObject({ 'requests.cpu': '9223372036854775807' });
  });

  test('a key that the API server does not enforce yet stays as it is', () => {
    const quota = aQuota(enforced({ pods: '10' }));
    expect(raisedQuota(quota, order())).toBeUndefined();
  });

  test('I5: no key is raised by more than the VMMRQs give for it, no key is added, dropped or lowered (F12)', () => {
    fc.assert(
      fc.property(aHardList, aVmmrqList, (list, gives) => {
        const quota = aQuota(hard(list), used({}));
        const vmmrqs = [aVmmrq(giving(gives))];
        const raised = raisedQuota(quota, order({ vmmrqs }));
        if (raised === undefined) return;
        const now = raised.status?.hard ?? {};
        expect(Object.keys(now).toSorted()).toEqual(Object.keys(list).toSorted());
        for (const [key, text] of Object.entries(list)) {
          const by = amountOf(now[key] ?? '0') - amountOf(text);
          expect(by).toBeGreaterThanOrEqual(0n);
          expect(by).toBeLessThanOrEqual(allowanceFrom(vmmrqs)(quota, key).max);
        }
      }),
    );
  });
});

test('raisedAgain is never higher than before, and nothing without an allowance', () => {
  const grant = aGrant({ raised: { 'requests.cpu': '2605m' } });
  expect(hardOf(raisedAgain(aQuota(), grant, order()))).toMatchObject({ 'requests.cpu': '2605m' });
  const more = [aVmmrq(giving({ cpu: '9' }))];
  expect(hardOf(raisedAgain(aQuota(), grant, order({ vmmrqs: more })))).toMatchObject({
    'requests.cpu': '2605m',
  });
  expect(raisedAgain(aQuota(), grant, order({ vmmrqs: [] }))).toBeUndefined();
  const again = raisedAgain(aQuota(), grant, order());
  expect(again && grantOf(again)).toMatchObject({
    grant: { raises: 2, raisedAt: grant.raisedAt, standingSince: new Date(NOW).toISOString() },
  });
});

test.each([
  { name: 'a pod has ended since: less is charged in the end', cpu: '905m', target: '1910m' },
  { name: 'nothing has ended', cpu: '1005m', target: '2010m' },
  { name: 'a pod of the lock is charged already', cpu: '2', target: '2010m' },
])(
  'raisedAgain waits for what is used now and the need, never for more than before: $name',
  ({ cpu, target }) => {
    const quotas = [{ name: 'quota', uid: 'uid-of-quota', need: { 'requests.cpu': '1005m' } }];
    const again = raisedAgain(
      aQuota(used({ 'requests.cpu': cpu })),
      aGrant(),
      order({ lock: aLock({ quotas }) }),
    );
    expect(again && grantOf(again)).toMatchObject({ grant: { target: { 'requests.cpu': target } } });
  },
);

test.each([
  ['as high', { 'requests.cpu': '2605m' }, false],
  ['higher', { 'requests.cpu': '3' }, false],
  ['lower', { 'requests.cpu': '2' }, true],
  ['not enforced at all', {}, true],
])('isUndone: %s', (_, list, want) => {
  expect(isUndone(aQuota(enforced(list)), aGrant())).toBe(want);
});

test('isUndone: a key that its owner has removed from spec.hard is not', () => {
  const { spec, ...quota } = aQuota(enforced({}));
  const { 'requests.cpu': _, ...hard } = spec.hard ?? {};
  expect(isUndone({ ...quota, spec: { ...spec, hard } }, aGrant())).toBe(false);
});

test.each([
  { name: 'reached', list: { 'requests.cpu': '2010m' }, target: aGrant().target, want: true },
  { name: 'beyond', list: { 'requests.cpu': '3' }, target: aGrant().target, want: true },
  { name: 'below', list: { 'requests.cpu': '2' }, target: aGrant().target, want: false },
  { name: 'of nothing', list: { 'requests.cpu': '9' }, target: {}, want: false },
])('isCharged: $name', ({ list, target, want }) => {
  expect(isCharged(aQuota(used(list)), { target })).toBe(want);
});

describe('needsMore', () => {
  const lockFor = (need: Record<string, string>): RaiseOrder['lock'] =>
    aLock({ quotas: [{ name: 'quota', uid: 'uid-of-quota', need }] });
  const quota = aQuota(
    hard({ 'requests.cpu': '1', 'limits.cpu': '1' }),
    used({ 'requests.cpu': '1', 'limits.cpu': '2' }),
  );

  test.each<[string, Record<string, string>, boolean]>([
    ['what the VMMRQs give', { 'requests.cpu': '1200m' }, false],
    ['more', { 'requests.cpu': '1201m' }, true],
    ['nothing of a key that is exceeded already', { 'requests.cpu': '1', 'limits.cpu': '0' }, false],
  ])('the pods lack %s', (_, need, wanted) => {
    const vmmrqs = [aVmmrq(giving({ 'requests.cpu': '1200m' }))];
    expect(needsMore(quota, order({ lock: lockFor(need), vmmrqs }))).toBe(wanted);
  });
});
