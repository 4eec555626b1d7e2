import { describe, expect, test } from '@jest/globals';
import { aLock, aNamespace, lockedBy, lockedUnreadably } from '../../../test/support/builders/namespace.ts';
import { named, NOW, seconds } from '../../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  enforced,
  hard,
  holding,
  holdingUnreadably,
} from '../../../test/support/builders/quota.ts';
import {
  aClusterVmmrq,
  aReservation,
  aVmmrq,
  giving,
  withTotal,
} from '../../../test/support/builders/snapshot.ts';
import type { ClusterVmmrq, Namespace, Reservation, ResourceQuota, Vmmrq } from '../objects.ts';
import { formatQuantity } from '../quantity.ts';
import {
  dueLocks,
  isReservationOver,
  MAX_RESERVATIONS,
  ordersOf,
  reservedNow,
  unreserved,
  withClosed,
  withEntries,
  withoutLocks,
} from './reservation.ts';

const CPU = { 'requests.cpu': '2' };
const drains = (...reserved: Reservation[]): ClusterVmmrq => withTotal(CPU, ...reserved)(aClusterVmmrq());
const reservedIn = (vmmrq: ClusterVmmrq | undefined): Reservation[] | undefined => vmmrq?.status?.reserved;

describe('the entries of a lock', () => {
  const quotas = [aQuota(), aQuota(named('other'), hard({ 'requests.cpu': '9' }))];
  const lock = aLock({
    quotas: quotas.map(({ metadata: { name, uid } }) => ({ name, uid, need: { 'requests.cpu': '1005m' } })),
  });
  const orders = (...givers: Vmmrq[]): object[] => ordersOf({ namespace: 'tenant', lock, quotas, givers });

  test('one for each quota that it would raise, in each VMMRQ with a total', () => {
    const amounts = { 'requests.cpu': '605m' };
    const entry = { namespace: 'tenant', quota: 'quota', token: 'token-1', amounts, until: lock.expiresAt };
    const updates = withTotal({ pods: 1 })(aClusterVmmrq(named('updates')));
    expect(orders(drains(), updates, aClusterVmmrq(named('free'), giving({ pods: 1 }) as never))).toEqual([
      { name: 'drains', entries: [entry] },
    ]);
  });

  test('none where the namespace’s own VMMRQ is enough', () => {
    expect(orders(aVmmrq(), drains())).toEqual([]);
  });
});

describe('more entries', () => {
  test('are added within the total, also beside those of keys without one', () => {
    const before = aReservation({ amounts: { 'requests.cpu': '995m', pods: '99' } });
    const next = withEntries(drains(before), [aReservation({ token: 'token-1' })]);
    expect(reservedIn(next)?.map(({ token }) => token)).toEqual(['token-0', 'token-1']);
  });

  test.each<[string, Reservation[], Reservation]>([
    ['beyond the total', [aReservation()], aReservation({ amounts: { 'requests.cpu': '996m' } })],
    ['closed ones count', [aReservation({ closed: true })], aReservation()],
    ['expired ones count', [aReservation({ until: seconds(-99) })], aReservation()],
    [
      'too many',
      Array.from({ length: MAX_RESERVATIONS }, (_, index) =>
        aReservation({ token: String(index), amounts: {} }),
      ),
      aReservation({ amounts: {} }),
    ],
  ])('%s: none', (_, before, entry) => {
    expect(withEntries(drains(...before), [entry])).toBeUndefined();
  });

  test('are removed by namespace and token of their lock, in all its quotas', () => {
    const other = aReservation({ token: 'token-1' });
    const both = drains(aReservation(), aReservation({ quota: 'other' }), other);
    const lock = { namespace: 'other', token: 'token-0' };
    expect(reservedIn(withoutLocks(both, [lock, { ...lock, token: 'token-9' }]))).toEqual([other]);
    expect(withoutLocks(both, [{ ...lock, namespace: 'tenant' }])).toBeUndefined();
  });
});

describe('a lock is looked at, where its entry is', () => {
  const CASES: Record<string, readonly [Partial<Reservation>, boolean]> = {
    current: [{}, false],
    'past its time': [{ until: seconds(0) }, true],
    'longer than a lock may live': [{ until: seconds(61) }, true],
    'without a time': [{ until: 'soon' }, true],
    closed: [{ closed: true }, true],
  };
  test.each(Object.entries(CASES))('%s', (_, [entry, isDue]) => {
    const vmmrq = drains(aReservation(entry));
    expect(dueLocks(vmmrq, NOW)).toEqual(isDue ? [{ namespace: 'other', token: 'token-0' }] : []);
    const now = [...reservedNow(vmmrq, NOW)].map(([key, amount]) => `${key}=${formatQuantity(amount)}`);
    expect(now).toEqual(isDue ? [] : ['requests.cpu=1005m']);
  });

  test('once for all its quotas', () => {
    const old = { until: seconds(-1) };
    expect(dueLocks(drains(aReservation(old), aReservation({ ...old, quota: 'other' })), NOW)).toHaveLength(
      1,
    );
  });
});

test('its entries are closed before it is looked at', () => {
  const lock = { namespace: 'other', token: 'token-0' };
  const other = aReservation({ token: 'token-1' });
  const closed = withClosed(drains(aReservation(), other), [lock]);
  expect(reservedIn(closed)).toEqual([aReservation({ closed: true }), other]);
  expect(closed && withClosed(closed, [lock])).toBeUndefined();
});

describe('a lock is over', () => {
  const raised = (token: string): ResourceQuota => aQuota(holding(aGrant({ token })));
  const CASES: Record<string, readonly [Namespace | undefined, readonly ResourceQuota[], boolean]> = {
    'without its namespace': [undefined, [], true],
    'that its namespace does not have': [aNamespace(), [], true],
    'that another one followed': [
      aNamespace(lockedBy(aLock({ token: 'token-1' }))),
      [raised('token-1')],
      true,
    ],
    'no: its namespace has it': [aNamespace(lockedBy(aLock({ token: 'token-0' }))), [], false],
    'no: its namespace has it, of another version': [
      aNamespace(lockedBy({ ...aLock({ token: 'token-0' }), v: 2 })),
      [],
      false,
    ],
    'no: the lock cannot be read': [aNamespace(lockedUnreadably()), [], false],
    'no: a quota is raised for it': [aNamespace(), [raised('token-1'), raised('token-0')], false],
    'no: a grant cannot be read': [aNamespace(), [aQuota(holdingUnreadably())], false],
  };
  test.each(Object.entries(CASES))('%s', (_, [namespace, quotas, want]) => {
    expect(isReservationOver({ namespace: 'other', token: 'token-0' }, namespace, quotas)).toBe(want);
  });
});

describe('a raise by 605m CPU', () => {
  const RAISED = enforced({ ...aQuota().spec.hard, 'requests.cpu': '2010m' })(aQuota());
  const own = (different: Partial<Reservation> = {}): Reservation =>
    aReservation({
      namespace: 'tenant',
      token: 'token-1',
      amounts: { 'requests.cpu': '605m' },
      ...different,
    });
  const CASES: Record<string, readonly [Vmmrq[], string | undefined]> = {
    'is reserved': [[drains(aReservation(), own())], undefined],
    'needs no reservation without a total': [[aClusterVmmrq()], undefined],
    'needs none of what the namespace’s own VMMRQ gives': [[aVmmrq(), drains()], undefined],
    'is not reserved': [[drains(aReservation())], 'cvmmrq/drains has not reserved requests.cpu=605m'],
    'is reserved for another namespace': [[drains(own({ namespace: 'other' }))], 'not reserved'],
    'is reserved for another quota': [[drains(own({ quota: 'other' }))], 'not reserved requests.cpu=605m'],
    'is reserved in part': [
      [drains(own({ amounts: { 'requests.cpu': '600m' } }))],
      'not reserved requests.cpu=5m of what ResourceQuota quota lacks',
    ],
    'is closed already': [[drains(own({ closed: true }))], 'not reserved'],
    'is more than a total that was lowered since': [
      [drains(aReservation({ amounts: { 'requests.cpu': '1396m' } }), own())],
      'cvmmrq/drains has a smaller total by now',
    ],
  };
  test.each(Object.entries(CASES))('%s', (_, [givers, want]) => {
    const problem = unreserved(RAISED, 'token-1', givers);
    if (want === undefined) expect(problem).toBeUndefined();
    else expect(problem).toContain(want);
  });
});
