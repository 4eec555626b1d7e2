import { describe, expect, test } from '@jest/globals';
import { aLock } from '../../../test/support/builders/namespace.ts';
import { named, seconds } from '../../../test/support/builders/object.ts';
import { aQuota, raisedFor } from '../../../test/support/builders/quota.ts';
import { aClusterVmmrq, giving, aVmmrq } from '../../../test/support/builders/snapshot.ts';
import type { ClusterVmmrq, Given, Vmmrq } from '../objects.ts';
import { givenBy, MAX_GIVEN, MAX_GIVEN_TO, withGiven } from './given.ts';

const aGiven = (different: Partial<Given> = {}): Given => ({
  at: seconds(0),
  namespace: 'tenant',
  quota: 'quota',
  amounts: { 'requests.cpu': '605m' },
  migrations: ['mig0'],
  ...different,
});

describe('what a lock was given', () => {
  const migrations = Array.from({ length: MAX_GIVEN_TO + 1 }, (_, index) => ({
    name: `mig${String(index)}`,
    uid: `uid-${String(index)}`,
    vmi: 'vmi',
  }));
  const lock = aLock({ migrations });
  const vmmrq = aVmmrq(giving({ 'requests.cpu': '1', pods: 2 }));
  const raised = raisedFor(lock, vmmrq)(aQuota());
  const alone = { vmmrq, givers: [vmmrq] };

  test('is one entry for each of its raised quotas: by how much, and for the first migrations', () => {
    expect(givenBy(lock.token, [raised, aQuota(named('other'))], alone)).toEqual([
      {
        at: seconds(0),
        namespace: 'tenant',
        quota: 'quota',
        amounts: { pods: '2', 'requests.cpu': '1' },
        migrations: ['mig0', 'mig1', 'mig2', 'mig3', 'mig4'],
      },
    ]);
  });

  test('is by each VMMRQ what those before it did not give', () => {
    const cpu = aVmmrq(named('cpu'), giving({ 'requests.cpu': '400m' }));
    const more = aVmmrq(named('more'), giving({ 'requests.cpu': '2', pods: 2 }));
    const rest = aVmmrq(named('rest'), giving({ pods: 9 }));
    const of = (giver: Vmmrq): unknown[] =>
      givenBy(lock.token, [raised], { vmmrq: giver, givers: [cpu, more, rest] }).map(
        ({ amounts }) => amounts,
      );
    expect([of(cpu), of(more), of(rest)]).toEqual([
      [{ 'requests.cpu': '400m' }],
      [{ 'requests.cpu': '600m', pods: '2' }],
      [],
    ]);
  });

  test('is nothing where another lock raised the quota', () => {
    expect(givenBy('token-9', [raised], alone)).toEqual([]);
  });
});

describe('status.given', () => {
  const holding = (...given: Given[]): ClusterVmmrq => ({ ...aClusterVmmrq(), status: { given } });

  test('has the newest first, and keeps what else the status has', () => {
    const before = holding(aGiven({ at: seconds(-9) }));
    const vmmrq = { ...before, status: { ...before.status, creationTime: seconds(-99) } };
    expect(withGiven(vmmrq, [aGiven()])).toEqual({
      creationTime: seconds(-99),
      given: [aGiven(), aGiven({ at: seconds(-9) })],
    });
    expect(withGiven(aClusterVmmrq(), [aGiven()])).toEqual({ given: [aGiven()] });
  });

  test('has an entry that came late in its place', () => {
    const late = aGiven({ at: seconds(-1) });
    const others = [aGiven(), aGiven({ at: seconds(-9) })];
    expect(withGiven(holding(...others), [late]).given).toEqual([others[0], late, others[1]]);
  });

  test('has one entry for a quota that was raised again', () => {
    const again = aGiven({ amounts: { 'requests.cpu': '1' } });
    const others = [aGiven({ namespace: 'other' }), aGiven({ quota: 'other' })];
    expect(withGiven(holding(aGiven(), ...others), [again]).given).toEqual([again, ...others]);
  });

  test('is bounded, and unchanged by what is older than all of it', () => {
    const full = Array.from({ length: MAX_GIVEN }, (_, index) => aGiven({ at: seconds(-index) }));
    expect(withGiven(holding(...full), [aGiven({ at: seconds(1) })]).given).toEqual([
      aGiven({ at: seconds(1) }),
      ...full.slice(0, -1),
    ]);
    expect(withGiven(holding(...full), [aGiven({ at: seconds(-99) })])).toEqual({ given: full });
  });
});
