import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  anAttachment,
  aTarget,
  ready,
  withCondition,
} from '../../../test/support/builders/kubevirt.ts';
import { labelled, named } from '../../../test/support/builders/object.ts';
import { aClaim, aLimitRange, keepingState } from '../../../test/support/builders/pod-rejection.ts';
import { aQuota, hard, used } from '../../../test/support/builders/quota.ts';
import { aSnapshot, RULES } from '../../../test/support/builders/snapshot.ts';
import { KUBEVIRT, REASON } from '../names.ts';
import type { LimitRange, PersistentVolumeClaim } from '../objects.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { assess, type Assessment } from './assessment.ts';

const ofClaims = (min: string): LimitRange => ({
  ...aLimitRange(),
  spec: { limits: [{ type: 'PersistentVolumeClaim', min: { storage: min } }] },
});

const assessed = (different: Partial<NamespaceSnapshot>): Assessment =>
  assess(
    aSnapshot({
      vmis: new Map([['vm0', keepingState()]]),
      claims: [aClaim()],
      limitRanges: [aLimitRange(), ofClaims('1Gi')],
      ...different,
    }),
    RULES,
  );

describe('a LimitRange that refuses the volume claim that comes before the pod', () => {
  test('is named, and nothing is locked', () => {
    const { verdicts, migrations } = assessed({});
    expect(verdicts).toMatchObject([
      {
        verdict: 'Unsupported',
        reason: REASON.limitRange,
        message:
          'the target first needs a volume claim, which LimitRange range refuses: ' +
          'minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 10Mi',
      },
    ]);
    expect(migrations).toEqual([]);
  });

  test('comes before a quota: quota admission is the last', () => {
    const quotas = [aQuota(hard({ persistentvolumeclaims: '1' }), used({ persistentvolumeclaims: '1' }))];
    expect(assessed({ quotas }).verdicts).toMatchObject([{ reason: REASON.limitRange }]);
  });

  const shared = (claim: PersistentVolumeClaim): PersistentVolumeClaim => ({
    ...claim,
    spec: { ...claim.spec, accessModes: ['ReadWriteMany'] },
  });

  test.each<[what: string, Partial<NamespaceSnapshot>]>([
    ['allows its size', { limitRanges: [ofClaims('10Mi')] }],
    ['is about a claim that several nodes may use', { claims: [aClaim(shared)] }],
    [
      'is about a claim that the migration has already',
      { claims: [aClaim(), labelled(KUBEVIRT.migrationName, 'mig0')(aClaim(named('copy')))] },
    ],
    ['is about a VM without such a claim', { vmis: aSnapshot().vmis }],
  ])('does not matter where it %s', (_, different) => {
    expect(assessed(different).verdicts).toMatchObject([{ verdict: 'FitsWithRaise' }]);
  });

  test('does not matter to an attachment pod', () => {
    const migration = aMigration(withCondition());
    const pods = [aLauncher(), anAttachment(aLauncher()), aTarget(migration, ready)];
    const quotas = [aQuota(hard({ pods: '3' }), used({ pods: '3' }))];
    expect(assessed({ migrations: [migration], pods, quotas }).verdicts).toMatchObject([
      { reason: REASON.notEnough },
    ]);
  });
});
