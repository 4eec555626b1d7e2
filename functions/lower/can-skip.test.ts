import { describe, expect, test } from '@jest/globals';
import { aMigration, inPhase, withCondition } from '../../test/support/builders/kubevirt.ts';
import { aSizedLock } from '../../test/support/builders/namespace.ts';
import {
  aQuota,
  holdingUnreadably,
  loweredBy,
  raisedFor,
  recounted,
  specHard,
  used,
} from '../../test/support/builders/quota.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { EVENT, SOURCE_EVENT } from '../domain/names.ts';
import type { KubernetesObject, Migration, ResourceQuota } from '../domain/objects.ts';
import { parseEventObject } from '../eventing/event-object.ts';
import { canSkip } from './can-skip.ts';

const canSkipWith = (object: KubernetesObject, type: string = SOURCE_EVENT.update): boolean => {
  const [kind, namespace] = [object.kind ?? '', object.metadata.namespace ?? ''];
  const eventObject = parseEventObject(object, { kind, namespace });
  return canSkip({ type, id: '', namespace, kind, ...(eventObject === undefined ? {} : { eventObject }) });
};

test.each<[string, Migration, boolean]>([
  ['that waits for a quota', aMigration(), false],
  [
    'that was cancelled while it waited: without a guard nothing else reports it',
    aMigration(inPhase('Failed')),
    false,
  ],
  ['that waits for something else', aMigration(withCondition()), false],
  ['that runs', aMigration(withCondition(), inPhase('Running')), false],
  ['that succeeded, as KubeVirt deletes it', aMigration(withCondition(), inPhase('Succeeded')), true],
  [
    'that failed, perhaps while it waited for its attachment pod',
    aMigration(withCondition(), inPhase('Failed')),
    false,
  ],
])('the deletion of a migration %s is skipped, or not', (_, migration, want) => {
  expect(canSkipWith(migration, SOURCE_EVENT.delete)).toBe(want);
});

describe('a quota event that `lower` skips', () => {
  const lock = aSizedLock();
  const raised = raisedFor(lock, aVmmrq());
  const attachmentLock = {
    ...lock,
    migrations: lock.migrations.map((each) => ({ ...each, lacks: 'attachment' as const })),
  };
  const raisedForAttachment = raisedFor(attachmentLock, aVmmrq());
  const admitted = used({ 'requests.cpu': '2010m', 'requests.memory': '2825657728' });

  test.each<[string, ResourceQuota, boolean]>([
    ['raised a moment ago', aQuota(raised), true],
    ['something else is charged', aQuota(raised, used({ pods: '2' })), true],
    ['the target pod is charged', aQuota(raised, admitted), false],
    [
      'a target pod is charged that is smaller than was estimated',
      aQuota(raised, used({ 'requests.cpu': '1800m', 'requests.memory': '2825657728' })),
      false,
    ],
    ['a recount undid it', aQuota(raised, recounted()), false],
    [
      'its owner edited a raised key, and no event has followed',
      aQuota(raised, specHard({ 'requests.cpu': '2' })),
      true,
    ],
    ['not counted', { ...aQuota(raised), status: {} }, false],
    ['an unreadable grant', aQuota(holdingUnreadably()), false],
    ['raised for an attachment pod, which needs a nudge', aQuota(raisedForAttachment), false],
    ['lowered', aQuota(raised, loweredBy()), false],
    ['no grant and no fence', aQuota(), false],
  ])('%s', (_, quota, want) => {
    expect(canSkipWith(quota)).toBe(want);
    expect(canSkipWith(quota, SOURCE_EVENT.add)).toBe(want);
  });

  test.each([EVENT.lockStalled, EVENT.lockExpired])('%s is never skipped', (type) => {
    expect(canSkip({ type, id: '', namespace: 'tenant' })).toBe(false);
  });

  test.each<[string, string, boolean]>([
    ['raise, which just wrote the quotas', '/mtq/raise', true],
    ['the guard, which saw them charged', '/mtq/guard', false],
  ])('quota.raised by %s', (_, source, want) => {
    expect(canSkip({ type: EVENT.quotaRaised, source, id: '', namespace: 'tenant' })).toBe(want);
  });
});
