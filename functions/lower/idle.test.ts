import { describe, expect, test } from '@jest/globals';
import { recordedRequest } from '../../test/cluster/eventing/recorded.ts';
import { aMigration, inPhase } from '../../test/support/builders/kubevirt.ts';
import { beingDeleted } from '../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  holding,
  holdingUnreadably,
  putBack,
  raisedBy,
  settled,
  specHard,
  used,
} from '../../test/support/builders/quota.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { EVENT, SOURCE_EVENT } from '../domain/names.ts';
import type { KubernetesObject, ResourceQuota } from '../domain/objects.ts';
import { toldBy } from '../eventing/told.ts';
import { isIdle } from './idle.ts';

const isIdleBy = (object: KubernetesObject, type: string = SOURCE_EVENT.update): boolean => {
  const [kind, namespace] = [object.kind ?? '', object.metadata.namespace ?? ''];
  const told = toldBy(object, { kind, namespace });
  return isIdle({ type, id: '', namespace, kind, ...(told === undefined ? {} : { told }) });
};

describe('a migration by which lower looks at nothing', () => {
  test.each<[string, boolean]>([
    ['adapter-vmim-update-pending', true],
    ['adapter-vmim-update-blocked', true],
    ['adapter-vmim-update-scheduling', false],
    ['adapter-vmim-update-succeeded', false],
  ])('as recorded, %s', (name, idle) => {
    expect(isIdleBy(recordedRequest(name).body as KubernetesObject)).toBe(idle);
  });

  test.each<[string, KubernetesObject, boolean]>([
    ['it waits', aMigration(), true],
    ['it waits and is given up', aMigration(beingDeleted()), false],
    ['it got its pod', aMigration(inPhase('Scheduling')), false],
    ['it runs', aMigration(inPhase('Running')), true],
    ['it runs and is given up', aMigration(inPhase('Running'), beingDeleted()), false],
    ['it ended', aMigration(inPhase('Failed')), false],
    ['nothing is told of its state', { ...aMigration(), status: {} } as KubernetesObject, false],
  ])('%s', (_, migration, idle) => {
    expect(isIdleBy(migration)).toBe(idle);
  });

  test('one that is gone is looked for', () => {
    expect(isIdleBy(aMigration(), SOURCE_EVENT.delete)).toBe(false);
  });
});

describe('a quota by which lower looks at nothing', () => {
  const raised = raisedBy(aVmmrq());
  const admitted = used({ 'requests.cpu': '2010m', 'requests.memory': '2825657728' });
  const ours = aGrant();

  test.each<[string, ResourceQuota, boolean]>([
    ['raised a moment ago', aQuota(raised), true],
    ['raised and enforced', aQuota(raised, settled()), true],
    ['the target pod is charged', aQuota(raised, settled(), admitted), false],
    ['put back', aQuota(holding(ours), specHard({ 'requests.cpu': '2605m' }), putBack(ours)), true],
    ['put back, and enforced', aQuota(holding(ours), putBack(ours), settled(), admitted), true],
    ['somebody changed what is raised', aQuota(raised, specHard({ 'requests.cpu': '2' })), false],
    ['somebody dropped what is raised', aQuota(raised, specHard({})), false],
    ['not counted', { ...aQuota(raised, settled()), status: {} }, false],
    ['a record that nobody can read', aQuota(holdingUnreadably()), false],
    ['a record of nothing', aQuota(holding(aGrant({ original: {}, raised: {} }))), false],
    ['nothing of ours', aQuota(), false],
  ])('%s', (_, quota, idle) => {
    expect(isIdleBy(quota)).toBe(idle);
  });

  test('the last event of a release is looked at: it repeats a reply that was lost', () => {
    expect(isIdleBy(aQuota(raised, settled()), SOURCE_EVENT.delete)).toBe(false);
  });

  test.each([EVENT.quotaRaised, EVENT.lockStalled, EVENT.lockExpired])('%s never is', (type) => {
    expect(isIdle({ type, id: '', namespace: 'tenant' })).toBe(false);
  });
});
