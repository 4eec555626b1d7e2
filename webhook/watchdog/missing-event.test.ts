import { describe, expect, test } from '@jest/globals';
import { aLock } from '../../test/support/builders/namespace.ts';
import { named } from '../../test/support/builders/object.ts';
import { aGrant, aQuota, enforced, holding, used } from '../../test/support/builders/quota.ts';
import { EVENT } from '../../functions/domain/names.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';
import { MAX_PARTIAL_RAISE_RETRIES, missingEvent, type ObservedLock } from './missing-event.ts';

const QUOTAS = ['q1', 'q2'].map((name) => ({ name, uid: `uid-of-${name}`, need: { 'requests.cpu': '1' } }));
const LOCK = aLock({ quotas: QUOTAS });

/** The quota with the raised label after a recount has undone its raise. */
const undone = (name: string): ResourceQuota => aQuota(named(name), holding(aGrant({ quotas: QUOTAS })));
const raised = (name: string): ResourceQuota => {
  const quota = undone(name);
  return enforced({ ...quota.spec.hard, 'requests.cpu': '2605m' })(quota);
};
const charged = (name: string): ResourceQuota => used({ 'requests.cpu': '2010m' })(raised(name));

const said = (
  quotas: readonly ResourceQuota[],
  { wasRaised = [], partialRaiseRetries = 0 }: { wasRaised?: string[]; partialRaiseRetries?: number } = {},
): ReturnType<typeof missingEvent> => {
  const uids = new Set([...quotas.map(({ metadata }) => metadata.uid), ...wasRaised]);
  const seen: ObservedLock = {
    namespace: 'tenant',
    lock: LOCK,
    raised: quotas,
    wasRaised: uids,
    partialRaiseRetries,
  };
  return missingEvent(seen);
};

describe('a lock of two quotas', () => {
  test.each<[string, ResourceQuota[], string | undefined]>([
    ['none is raised: namespace.locked', [], EVENT.namespaceLocked],
    ['one is raised: namespace.locked for the other', [raised('q1')], EVENT.namespaceLocked],
    ['both are raised: none, the lock waits for its pods', [raised('q1'), raised('q2')], undefined],
    ['one is charged, and the other had the headroom: quota.raised', [charged('q1')], EVENT.quotaRaised],
    ['one is charged, the other raised: none', [charged('q1'), raised('q2')], undefined],
    ['both are charged: quota.raised', [charged('q1'), charged('q2')], EVENT.quotaRaised],
    ['one is undone: quota.undone, which also raises the other', [undone('q1')], EVENT.quotaUndone],
  ])('%s', (_, quotas, want) => {
    expect(said(quotas)?.type).toBe(want);
  });

  test('the event for the other names both, because `raise` skips raised quotas', () => {
    expect(said([raised('q1')])).toEqual({
      type: EVENT.namespaceLocked,
      from: 'guard',
      namespace: 'tenant',
      token: 'token-1',
      quotas: ['q1', 'q2'],
      vmmrqs: ['vmmrq'],
    });
  });

  test('requests the raise of the other only a few times, because it may have the headroom by now', () => {
    expect(said([raised('q1')], { partialRaiseRetries: MAX_PARTIAL_RAISE_RETRIES - 1 })?.type).toBe(
      EVENT.namespaceLocked,
    );
    expect(said([raised('q1')], { partialRaiseRetries: MAX_PARTIAL_RAISE_RETRIES })).toBeUndefined();
  });

  test('requests no raise when the other was raised and is lowered already', () => {
    expect(said([raised('q1')], { wasRaised: ['uid-of-q2'] })).toBeUndefined();
  });

  test('both were raised and are lowered: quota.lowered', () => {
    expect(said([], { wasRaised: ['uid-of-q1', 'uid-of-q2'] })?.type).toBe(EVENT.quotaLowered);
  });
});
