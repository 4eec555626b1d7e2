import { describe, expect, test } from '@jest/globals';
import { aMigration, refusedAt, withCondition } from '../../../test/support/builders/kubevirt.ts';
import { createdAt } from '../../../test/support/builders/object.ts';
import { aFailure, exceeded, forbidden } from '../../../test/support/builders/pod-rejection.ts';
import { aQuota, hard, used } from '../../../test/support/builders/quota.ts';
import { aSnapshot, RULES } from '../../../test/support/builders/snapshot.ts';
import { REASON } from '../names.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { assess } from './assessment.ts';

const reasonOf = (different: Partial<NamespaceSnapshot>): string =>
  assess(aSnapshot(different), RULES)
    .verdicts.map(({ reason }) => reason)
    .join();

test.each([
  ['requests.memory=1Gi', REASON.clusterQuota],
  ['requests.cpu=1005m', REASON.fitsWithRaise],
])(
  'a refusal for %s by the name of a quota that counts CPU is its own only for its own keys',
  (keys, want) => {
    const quotas = [aQuota(hard({ 'requests.cpu': '1' }), used({ 'requests.cpu': '1' }))];
    const events = [aFailure(exceeded('quota', keys))];
    expect(reasonOf({ migrations: [aMigration(refusedAt(-60))], events, quotas })).toBe(want);
  },
);

describe('a quota that refused the pod and is not there any more', () => {
  const migrations = [aMigration(refusedAt(-60))];
  const events = [aFailure(exceeded('before', 'requests.cpu=1005m'), -60)];

  test('has been replaced where another was created since: that one counts', () => {
    const quotas = [aQuota(createdAt(-30))];
    expect(reasonOf({ migrations, events, quotas })).toBe(REASON.fitsWithRaise);
  });

  test.each([-60, -600])('is of another kind where all others were there (created at %s s)', (at) => {
    const quotas = [aQuota(createdAt(at))];
    expect(reasonOf({ migrations, events, quotas })).toBe(REASON.clusterQuota);
  });

  test('is of another kind where there is no other', () => {
    expect(reasonOf({ migrations, events, quotas: [] })).toBe(REASON.clusterQuota);
  });

  test('is of another kind once it refuses the pod again', () => {
    const again = [...events, aFailure(exceeded('before', 'requests.cpu=1005m'), -5)];
    expect(reasonOf({ migrations, events: again, quotas: [aQuota(createdAt(-30))] })).toBe(
      REASON.clusterQuota,
    );
  });

  test('and demanded a value: the same', () => {
    const refused = [
      aFailure(forbidden('failed quota: before: must specify requests.cpu for: istio-proxy'), -60),
    ];
    const unexplained = { migrations: [aMigration(withCondition())], events: refused };
    const room = hard({ pods: '10', 'requests.cpu': '8', 'requests.memory': '16Gi' });
    expect(reasonOf({ ...unexplained, quotas: [aQuota(room, createdAt(-30))] })).toBe(REASON.fits);
    expect(reasonOf({ ...unexplained, quotas: [aQuota(room, createdAt(-90))] })).toBe(REASON.mustSpecify);
  });
});
