import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aHardList, aVmmrqList } from '../../test/support/builders/arbitraries.ts';
import { aLock } from '../../test/support/builders/namespace.ts';
import { annotated, labelled, named } from '../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  enforced,
  hard,
  holding,
  holdingUnreadably,
  raisedBy,
  releasedBy,
  settled,
  specHard,
} from '../../test/support/builders/quota.ts';
import { aVmmrq, giving } from '../../test/support/builders/snapshot.ts';
import { grantOf } from '../domain/quota/grant.ts';
import type { Lock } from '../domain/lock.ts';
import { ANNOTATION, LABEL } from '../domain/names.ts';
import type { ResourceList, ResourceQuota } from '../domain/objects.ts';
import { enforcesNoMore, loweredStatus } from '../domain/quota/enforced.ts';
import { nextWrite, type NextWrite } from './next-write.ts';

const RAISED = settled()(raisedBy(aVmmrq())(aQuota()));
const GRANT = { original: { 'requests.cpu': '1405m', 'requests.memory': '2041974464' } };
const BACK = specHard(aQuota().spec.hard ?? {})(RAISED);
const FOREIGN = [{ key: 'requests.cpu', raised: '2605m', now: '7' }];

describe('nextWrite', () => {
  test.each<[string, [ResourceQuota, Lock | undefined], NextWrite['kind']]>([
    ['raised: the originals', [RAISED, aLock()], 'restore'],
    [
      'raised and not enforced yet: the originals all the same',
      [raisedBy(aVmmrq())(aQuota()), aLock()],
      'restore',
    ],
    ['raised, without a lock', [RAISED, undefined], 'restore'],
    [
      'raised, by another token',
      [holding(aGrant({ token: 'token-0' }))(aQuota(hard({ 'requests.cpu': '2605m' }))), aLock()],
      'restore',
    ],
    ['put back, and still enforced higher: wait', [BACK, aLock()], 'enforce'],
    ['put back and enforced: the record goes', [settled()(BACK), aLock()], 'release'],
    ['put back and enforced, without a lock', [settled()(BACK), undefined], 'release'],
    ['raised by nobody, in the lock: the fence', [aQuota(), aLock()], 'fence'],
    ['raised by nobody, fenced by an earlier lock', [aQuota(releasedBy('token-0')), aLock()], 'fence'],
    ['let go of by this lock', [aQuota(releasedBy('token-1')), aLock()], 'done'],
    ['not of the lock', [aQuota(named('other')), aLock()], 'done'],
    ['no lock, no grant', [aQuota(), undefined], 'done'],
    [
      'a grant that cannot be read says nothing of an original',
      [aQuota(holdingUnreadably()), aLock()],
      'release',
    ],
    [
      'that cannot be read, and enforced higher than the spec says',
      [aQuota(holdingUnreadably(), enforced({ ...aQuota().spec.hard, pods: '11' })), undefined],
      'enforce',
    ],
    ['a label alone', [aQuota(labelled(LABEL.raised)), undefined], 'release'],
  ])('%s', (_, [quota, lock], kind) => {
    expect(nextWrite(quota, lock).kind).toBe(kind);
  });

  test('restore: spec.hard as it was, record and label kept', () => {
    const next = nextWrite(RAISED, aLock());
    expect(next).toMatchObject({ kind: 'restore', quota: { spec: aQuota().spec }, foreignEdits: [] });
    expect('quota' in next && next.quota.metadata).toEqual(RAISED.metadata);
  });

  test('release: the fence is the token of the grant, not of the lock that lets go of it', () => {
    const foreign = holding(aGrant({ ...GRANT, token: 'token-0' }))(aQuota());
    expect(nextWrite(foreign, aLock())).toMatchObject({
      kind: 'release',
      quota: { metadata: { annotations: { [ANNOTATION.lastRelease]: 'token-0' } } },
    });
  });

  test.each([
    ['of the lock', aLock(), 'token-1'],
    ['of nobody', undefined, 'unreadable'],
  ])('a grant that cannot be read is fenced by the token %s, spec.hard stays', (_, lock, token) => {
    expect(nextWrite(aQuota(holdingUnreadably()), lock)).toMatchObject({
      kind: 'release',
      quota: { spec: aQuota().spec, metadata: { annotations: { [ANNOTATION.lastRelease]: token } } },
    });
  });

  test.each<[NextWrite['kind'], ResourceQuota]>([
    ['restore', specHard({ ...RAISED.spec.hard, 'requests.cpu': '7' })(RAISED)],
    ['enforce', specHard({ ...BACK.spec.hard, 'requests.cpu': '7' })(BACK)],
    ['release', settled()(specHard({ ...BACK.spec.hard, 'requests.cpu': '7' })(BACK))],
  ])('%s: what somebody else changed stands, and is told', (kind, quota) => {
    const next = nextWrite(quota, aLock());
    expect(next).toMatchObject({ kind, foreignEdits: FOREIGN });
    if ('quota' in next) expect(next.quota.spec.hard?.['requests.cpu']).toBe('7');
  });
});

/** The quota after the write, as the API server and the quota controller make it. */
function after(quota: ResourceQuota, next: NextWrite): ResourceQuota {
  if (next.kind === 'done') return quota;
  if (next.kind !== 'enforce') return next.quota;
  // The controller follows; were it gone, `lower` itself would, where that lowers.
  return loweredStatus(quota) ?? settled()(quota);
}

const MOST_WRITES = 5;

function end(start: ResourceQuota, lock: Lock | undefined): { quota: ResourceQuota; writes: string[] } {
  let quota = start;
  const writes: string[] = [];
  for (let next = nextWrite(quota, lock); next.kind !== 'done'; next = nextWrite(quota, lock)) {
    writes.push(next.kind);
    if (writes.length > MOST_WRITES) throw new Error(writes.join());
    quota = after(quota, next);
  }
  return { quota, writes };
}

describe('the way back', () => {
  test('is three writes: originals, (status), record', () => {
    const { quota, writes } = end(RAISED, aLock());
    expect(writes).toEqual(['restore', 'enforce', 'release']);
    expect(quota).toEqual(aQuota(releasedBy('token-1')));
  });

  /** Any state a quota may be in: raised or not, put back or not, edited, enforced or not, unreadable, of this lock or not. */
  const anyQuota = fc
    .record({
      list: aHardList,
      gives: aVmmrqList,
      edit: aHardList,
      status: fc.option(aHardList, { nil: undefined }),
      token: fc.constantFrom('token-1', 'token-0'),
      way: fc.constantFrom('raised', 'back', 'unreadable', 'label', 'fenced', 'none'),
      isOfLock: fc.boolean(),
    })
    .map(({ list, gives, edit, status, token, way, isOfLock }) => {
      const before = aQuota(named(isOfLock ? 'quota' : 'other'), hard(list));
      const raised = raisedOr(before, gives, token);
      const states: Record<typeof way, ResourceQuota> = {
        raised,
        back: specHard(list)(raised),
        unreadable: holdingUnreadably()(before),
        label: labelled(LABEL.raised)(before),
        fenced: annotated(ANNOTATION.lastRelease, token)(before),
        none: before,
      };
      const edited = specHard({ ...states[way].spec.hard, ...edit })(states[way]);
      return status === undefined ? edited : enforced(status)(edited);
    });

  test('ends from any state, after at most five writes, with the quota let go of and enforced', () => {
    fc.assert(
      fc.property(anyQuota, fc.option(fc.constant(aLock()), { nil: undefined }), (start, lock) => {
        const { quota, writes } = end(start, lock);
        expect(grantOf(quota)).toEqual({ kind: 'none' });
        if (writes.includes('release')) expect(enforcesNoMore(quota)).toBe(true);
        const isOfLock = lock?.quotas.some(({ uid }) => uid === quota.metadata.uid) === true;
        if (isOfLock) expect(quota.metadata.annotations?.[ANNOTATION.lastRelease]).toBe('token-1');
      }),
      { numRuns: 500 },
    );
  });

  test('status.hard may be raised only while the label is there: no write lets go of a quota before', () => {
    fc.assert(
      fc.property(anyQuota, (start) => {
        const next = nextWrite(start, aLock());
        if (next.kind === 'release') expect(enforcesNoMore(next.quota)).toBe(true);
        if (next.kind === 'restore') expect(next.quota.metadata).toEqual(start.metadata);
        if (next.kind === 'fence') expect(grantOf(start)).toEqual({ kind: 'none' });
      }),
    );
  });
});

function raisedOr(quota: ResourceQuota, gives: ResourceList, token: string): ResourceQuota {
  try {
    return raisedBy(aVmmrq(giving(gives)), token)(quota);
  } catch {
    return quota;
  }
}
