import { describe, expect, test } from '@jest/globals';
import { aMigration, aVmi } from '../../../test/support/builders/kubevirt.ts';
import { labelled } from '../../../test/support/builders/object.ts';
import { aQuota, hard, scoped, used } from '../../../test/support/builders/quota.ts';
import { aClaim, keepingState } from '../../../test/support/builders/pod-rejection.ts';
import { claimShortfall, leastClaimShortfall } from './claims.ts';
import type { PersistentVolumeClaim, ResourceList, ScopeSelectorTerm } from '../objects.ts';

type Operator = ScopeSelectorTerm['operator'];

const byTerms = (...matchExpressions: ScopeSelectorTerm[]): Parameters<typeof scoped>[0] => ({
  scopeSelector: { matchExpressions },
});

const full = (limits: ResourceList): string =>
  claimShortfall(aMigration(), keepingState(), {
    claims: [aClaim()],
    quotas: [aQuota(hard(limits), used(limits))],
  });

describe('claimShortfall (F26)', () => {
  test.each<[ResourceList, string]>([
    [{ persistentvolumeclaims: '1' }, 'ResourceQuota quota lacks persistentvolumeclaims=1'],
    [{ 'count/persistentvolumeclaims': '3' }, 'ResourceQuota quota lacks count/persistentvolumeclaims=1'],
    [{ 'requests.storage': '10Mi' }, 'ResourceQuota quota lacks requests.storage=10Mi'],
    [
      { 'gold.storageclass.storage.k8s.io/requests.storage': '1Gi' },
      'ResourceQuota quota lacks gold.storageclass.storage.k8s.io/requests.storage=10Mi',
    ],
    [
      { 'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '1' },
      'ResourceQuota quota lacks gold.storageclass.storage.k8s.io/persistentvolumeclaims=1',
    ],
    [{ 'silver.storageclass.storage.k8s.io/requests.storage': '1Gi' }, ''],
    [{ pods: '1', services: '1', 'count/configmaps': '1' }, ''],
  ])('%j, all used', (limits, want) => {
    expect(full(limits)).toBe(want);
  });

  const ofSize = (storage: string, storageClassName: string): PersistentVolumeClaim =>
    aClaim((claim) => ({
      ...claim,
      spec: { ...claim.spec, storageClassName, resources: { requests: { storage } } },
    }));
  const OLD = 'old.storageclass.storage.k8s.io/requests.storage';
  const NEW = 'new.storageclass.storage.k8s.io/requests.storage';

  test.each<[string, string | undefined, PersistentVolumeClaim, [likely: string, least: string]]>([
    ['another class than its own', 'new', ofSize('1Gi', 'old'), [`${NEW}=10Mi`, `${NEW}=10Mi`]],
    ['its own class', 'new', ofSize('1Gi', 'new'), [`${NEW}=1Gi`, `${NEW}=10Mi`]],
    ['no class', undefined, ofSize('1Gi', 'old'), [`${OLD}=1Gi`, '']],
  ])('where KubeVirt’s CR names %s', (_, stateStorageClass, claim, want) => {
    const full = { [OLD]: '1Gi', [NEW]: '1Gi' };
    const now = { claims: [claim], quotas: [aQuota(hard(full), used(full))], stateStorageClass };
    const said = [claimShortfall, leastClaimShortfall].map((each) => each(aMigration(), keepingState(), now));
    expect(said).toEqual(want.map((lacking) => lacking && `ResourceQuota quota lacks ${lacking}`));
  });

  test('also where only backups keep something there', () => {
    const tracked = { ...aVmi(), status: { ...aVmi().status, changedBlockTracking: { state: 'Enabled' } } };
    const quotas = [aQuota(hard({ persistentvolumeclaims: '1' }), used({ persistentvolumeclaims: '1' }))];
    expect(claimShortfall(aMigration(), tracked, { claims: [aClaim()], quotas })).not.toBe('');
  });

  const LACKING = [aQuota(hard({ persistentvolumeclaims: '1' }), used({ persistentvolumeclaims: '1' }))];
  const shared = (claim: PersistentVolumeClaim): PersistentVolumeClaim => ({
    ...claim,
    spec: { ...claim.spec, accessModes: ['ReadWriteMany'] },
  });

  test.each<[string, Parameters<typeof claimShortfall>[1], PersistentVolumeClaim[]]>([
    ['the VM keeps no state', aVmi(), [aClaim()]],
    ['every node may use its volume', keepingState(), [aClaim(shared)]],
    ['it has none yet', keepingState(), []],
    ['only another VM has one', keepingState(), [aClaim(labelled('persistent-state-for', 'vm1'))]],
    [
      'the target’s is there already',
      keepingState(),
      [aClaim(), aClaim(labelled('persistent-state-for', ''), labelled('kubevirt.io/migrationName', 'mig0'))],
    ],
  ])('%s: nothing', (_, vmi, claims) => {
    expect(claimShortfall(aMigration(), vmi, { claims, quotas: LACKING })).toBe('');
  });

  const ofClass = (operator: Operator, ...values: string[]): ScopeSelectorTerm => ({
    scopeName: 'VolumeAttributesClass',
    operator,
    values,
  });

  test.each<[string, Parameters<typeof scoped>[0], string]>([
    ['of pods', { scopes: ['NotTerminating'] }, ''],
    ['of claims with a class', { scopes: ['VolumeAttributesClass'] }, ''],
    ['of claims with this class', byTerms(ofClass('In', 'gold')), ''],
    ['of claims with any class', byTerms(ofClass('Exists')), ''],
    ['of claims without a class', byTerms(ofClass('DoesNotExist')), 'persistentvolumeclaims=1'],
    ['of claims with no such class', byTerms(ofClass('NotIn', 'gold')), 'persistentvolumeclaims=1'],
    [
      'of claims without a class, and of pods',
      byTerms(ofClass('DoesNotExist'), { scopeName: 'PriorityClass', operator: 'DoesNotExist' }),
      '',
    ],
  ])('a quota with a scope %s', (_, scope, want) => {
    const quotas = LACKING.map(scoped(scope));
    const lacking = want === '' ? '' : `ResourceQuota quota lacks ${want}`;
    expect(claimShortfall(aMigration(), keepingState(), { claims: [aClaim()], quotas })).toBe(lacking);
  });
});
