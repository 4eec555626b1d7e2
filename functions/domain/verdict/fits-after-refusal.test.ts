import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  anAttachment,
  aTarget,
  ready,
  refusedAt,
  withCondition,
} from '../../../test/support/builders/kubevirt.ts';
import {
  aClaim,
  aFailure,
  exceeded,
  forbidden,
  keepingState,
} from '../../../test/support/builders/pod-rejection.ts';
import { aQuota, hard } from '../../../test/support/builders/quota.ts';
import { aSnapshot, RULES } from '../../../test/support/builders/snapshot.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { assess } from './assessment.ts';

/** Refused an hour ago, and the quota as read has headroom. */
const messageOf = (different: Partial<NamespaceSnapshot>): string => {
  const migrations = [aMigration(refusedAt(-3_000))];
  const { verdicts } = assess(
    aSnapshot({ migrations, quotas: [aQuota(hard({ pods: '100' }))], ...different }),
    RULES,
  );
  return verdicts.map(({ verdict, message }) => `${verdict}: ${message}`).join();
};

const PLAIN = 'Fits: the quotas have headroom now; virt-controller only has to look again';
const refused = (quota: string, time: string): string =>
  `Fits: ResourceQuota ${quota} refused its pod at ${time} (requested pods=1, used pods=1, limited pods=1); ` +
  'the quotas have headroom now; virt-controller only has to look again';

describe('a quota that refused the pod and has headroom by now', () => {
  const before = aFailure(exceeded('quota', 'pods=1'), -60);

  test.each<[what: string, Partial<NamespaceSnapshot>, want: string]>([
    [
      'is named, with the figures of that moment and the time',
      { events: [before] },
      refused('quota', '2026-11-21T04:59:00.000Z'),
    ],
    ['is not known without an Event', {}, PLAIN],
    [
      'is not known where the last refusal is about no amount',
      { events: [before, aFailure(forbidden('status unknown for quota: quota, resources: pods'), -1)] },
      PLAIN,
    ],
  ])('%s', (_, different, want) => {
    expect(messageOf(different)).toBe(want);
  });
});

describe('a VM that keeps its state on a volume', () => {
  const vmis = new Map([['vm0', keepingState()]]);
  const ofClaim = (name: string): string =>
    `${PLAIN}; if it stays refused, a ClusterResourceQuota or a quota on claims refuses a copy of its volume claim ${name}: KubeVirt writes no Event of that`;

  test.each<[what: string, Partial<NamespaceSnapshot>, want: string]>([
    ['and has no Event may lack a claim', { claims: [aClaim()] }, ofClaim('persistent-state-for-vm0-abcde')],
    ['also where the claims were not read', {}, ofClaim('persistent-state-for-vm0')],
    [
      'lacks none that several nodes may use',
      {
        claims: [aClaim((claim) => ({ ...claim, spec: { ...claim.spec, accessModes: ['ReadWriteMany'] } }))],
      },
      PLAIN,
    ],
    [
      'lacks none where the pod was refused after the condition was set',
      { claims: [aClaim()], events: [aFailure(exceeded('quota', 'pods=1'), -5)] },
      refused('quota', '2026-11-21T04:59:55.000Z'),
    ],
  ])('%s', (_, different, want) => {
    expect(messageOf({ vmis, ...different })).toBe(want);
  });

  test('lacks none once its target is there', () => {
    const migration = aMigration(withCondition());
    const pods = [aLauncher(), anAttachment(aLauncher()), aTarget(migration, ready)];
    expect(messageOf({ vmis, migrations: [migration], pods })).not.toContain('volume claim');
  });
});
