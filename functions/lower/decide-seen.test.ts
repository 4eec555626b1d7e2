import { describe, expect, test } from '@jest/globals';
import { aMigration, anAttachment, aTarget, ready } from '../../test/support/builders/kubevirt.ts';
import { aSizedLock } from '../../test/support/builders/namespace.ts';
import { annotated, named, NOW, withUid } from '../../test/support/builders/object.ts';
import { aGrant, aQuota, raisedBy, raisedFor, recounted, used } from '../../test/support/builders/quota.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { ANNOTATION, REASON } from '../domain/names.ts';
import {
  decideSeen,
  grantShownBy,
  isForAttachment,
  nextToGo,
  type SeenDecision,
  type SeenSnapshot,
} from './decide-seen.ts';

const RAISED = raisedFor(aSizedLock(), aVmmrq())(aQuota());
const CHARGED = used({ 'requests.cpu': '2010m', 'requests.memory': '2825657728' })(RAISED);

const seen = (different: Partial<SeenSnapshot> = {}): SeenDecision =>
  decideSeen({ grant: aGrant(), quotas: [RAISED], targets: [], now: NOW, ...different });

describe('the decision by a raised quota alone', () => {
  test.each<[string, Partial<SeenSnapshot>, Partial<SeenDecision>]>([
    ['raised, and nothing charged: it waits', {}, { kind: 'wait' }],
    ['its pod is there', { targets: [aTarget()] }, { kind: 'lower', outcome: 'admitted' }],
    [
      'its pod is there, and the raise undone',
      { quotas: [recounted()(RAISED)], targets: [aTarget()] },
      { kind: 'lower' },
    ],
    ['a pod of another migration', { targets: [aTarget(aMigration(withUid('other')))] }, { kind: 'wait' }],
    [
      'everything is charged, its pod is not stored yet',
      { quotas: [CHARGED] },
      { kind: 'lower', outcome: 'charged' },
    ],
    ['a part is charged', { quotas: [used({ 'requests.cpu': '2010m' })(RAISED)] }, { kind: 'wait' }],
    ['a recount undid it', { quotas: [recounted()(RAISED)] }, { kind: 'undone', reason: REASON.undone }],
    ['past its time: only the lock tells', { now: NOW + 26_000 }, { kind: 'lookFurther' }],
    [
      'one of two quotas is charged',
      { quotas: [CHARGED, raisedBy(aVmmrq())(aQuota(named('other')))] },
      { kind: 'wait' },
    ],
    [
      'the other quota of the lock was never raised',
      { quotas: [CHARGED, aQuota(named('other'))] },
      { kind: 'lower', outcome: 'charged' },
    ],
  ])('%s', (_, different, want) => {
    expect(seen(different)).toMatchObject(want);
  });
});

describe('the migration to nudge', () => {
  const two = annotated(ANNOTATION.migrations, 'uid-of-mig0/uid-of-vm0,uid-of-mig1/uid-of-vm1')(RAISED);
  const other = { name: 'mig1', uid: 'uid-of-mig1' };
  const grant = { ...aGrant(), migrations: [{ name: 'mig0', uid: 'uid-of-mig0' }, other] };
  test.each<[string, Partial<SeenSnapshot>, object | undefined]>([
    ['none while virt-controller has made no pod', {}, undefined],
    ['the other one, when the pod of one is there', { targets: [aTarget()] }, other],
    ['none where there is no other', { quotas: [RAISED], targets: [aTarget()] }, undefined],
  ])('%s', (_, different, want) => {
    expect(nextToGo({ grant, quotas: [two], targets: [], now: NOW, ...different })).toEqual(want);
  });
});

test('raised by the full allowance, for unknown sizes: only the pod shows admission, not the charge', () => {
  const fixed = raisedBy(aVmmrq())(aQuota());
  const grant = grantShownBy(fixed) ?? aGrant();
  expect(seen({ grant, quotas: [used({ 'requests.cpu': '9' })(fixed)] })).toMatchObject({ kind: 'wait' });
});

test('for an attachment pod no label is enough: only the lock’s migrations identify it', () => {
  const quota = annotated(ANNOTATION.migrations, 'uid-of-mig0/hotplug-disk')(RAISED);
  expect(isForAttachment(quota)).toBe(true);
  expect(isForAttachment(RAISED)).toBe(false);
  const target = aTarget(aMigration(), ready);
  expect(seen({ quotas: [quota], targets: [target] })).toMatchObject({ kind: 'wait' });
  const targets = [target, anAttachment(target, aMigration())];
  expect(seen({ quotas: [quota], targets })).toMatchObject({ kind: 'wait' });
});
