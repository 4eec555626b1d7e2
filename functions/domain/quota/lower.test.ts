import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aHardList, aVmmrqList } from '../../../test/support/builders/arbitraries.ts';
import { annotated, labelled } from '../../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  hard,
  holding,
  holdingUnreadably,
  raisedBy,
  specHard,
  used,
} from '../../../test/support/builders/quota.ts';
import { aVmmrq, giving } from '../../../test/support/builders/snapshot.ts';
import { grantOf } from './grant.ts';
import { isFencedBy, loweredQuota, fenceOf } from './lower.ts';
import { ANNOTATION } from '../names.ts';
import type { ResourceQuota } from '../objects.ts';

const FENCE = { token: 'token-1', outcome: 'admitted' } as const;
const lowered = (quota: ResourceQuota): ResourceQuota => loweredQuota(quota, FENCE);
const RAISED = raisedBy(aVmmrq())(aQuota(annotated('team', 'blue'), labelled('env', 'test')));

describe('loweredQuota', () => {
  test('is one write: status.hard = spec.hard, the grant removed, the fence set (F5)', () => {
    const back = lowered(RAISED);
    expect(back.status).toEqual({ hard: RAISED.spec.hard, used: RAISED.status?.used });
    expect(back.metadata.labels).toEqual({ env: 'test' });
    expect(back.metadata.annotations).toEqual({
      team: 'blue',
      [ANNOTATION.lastRelease]: 'token-1 admitted',
    });
    expect(grantOf(back)).toEqual({ kind: 'none' });
    expect(isFencedBy(back, 'token-1')).toBe(true);
    expect(isFencedBy(back, 'token-10')).toBe(false);
  });

  test('keeps what its owners write meanwhile (I4), and sends `used` as it was read (F22)', () => {
    fc.assert(
      fc.property(aHardList, (list) => {
        const edited = specHard(list)(used({ pods: '3' })(RAISED));
        const back = lowered(edited);
        expect(back.spec).toEqual(edited.spec);
        expect(back.status?.used).toEqual(edited.status?.used);
        for (const [key, text] of Object.entries(back.status?.hard ?? {})) expect(text).toBe(list[key]);
      }),
    );
  });

  test('raise and lower restore status.hard byte for byte, for any quota and any VMMRQs (F28)', () => {
    fc.assert(
      fc.property(aHardList, aVmmrqList, (list, gives) => {
        const quota = aQuota(hard(list));
        let raised: ResourceQuota;
        try {
          raised = raisedBy(aVmmrq(giving(gives)))(quota);
        } catch {
          return;
        }
        expect(lowered(raised).status).toEqual(quota.status);
        expect(lowered(raised).spec).toEqual(quota.spec);
      }),
    );
  });

  test('leaves a new key without `used` to the quota controller', () => {
    const added = specHard({ ...RAISED.spec.hard, services: '5' })(RAISED);
    expect(lowered(added).status?.hard).toEqual(RAISED.spec.hard);
  });

  test('restores status.hard from spec.hard with an unreadable grant, too (F4)', () => {
    const unreadable = hard({ pods: '5' })(aQuota(holdingUnreadably()));
    expect(
      lowered({ ...unreadable, status: { ...unreadable.status, hard: { pods: '9' } } }).status?.hard,
    ).toEqual({
      pods: '5',
    });
  });

  test('sets only the fence on a quota without a grant, whatever is enforced', () => {
    const lagging = specHard({ pods: '1' })(aQuota());
    expect(lowered(lagging)).toEqual(annotated(ANNOTATION.lastRelease, 'token-1 admitted')(lagging));
  });

  test('removes a grant in any order, or of another version', () => {
    const turned = JSON.stringify(Object.fromEntries(Object.entries(aGrant({ v: 9 })).toReversed()));
    const quota = annotated(ANNOTATION.grant, turned)(aQuota(holding(aGrant())));
    expect(grantOf(quota)).toMatchObject({ kind: 'held', grant: { token: 'token-1' } });
    expect(grantOf(lowered(quota))).toEqual({ kind: 'none' });
  });
});

test.each([
  ['token-1 failed', { token: 'token-1', outcome: 'failed' }],
  ['token-1 charged', { token: 'token-1', outcome: 'charged' }],
  ['token-1', { token: 'token-1', outcome: 'failed' }],
  ['token-1 something', { token: 'token-1', outcome: 'failed' }],
  ['', undefined],
])('fenceOf %j', (text, want) => {
  expect(fenceOf(aQuota(annotated(ANNOTATION.lastRelease, text)))).toEqual(want);
});
