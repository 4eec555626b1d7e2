import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { amountOf, aHardList } from '../../../test/support/builders/arbitraries.ts';
import { aQuota, enforced, settled, specHard, used } from '../../../test/support/builders/quota.ts';
import { enforcesNoMore, isEnforced, loweredStatus } from './enforced.ts';
import type { ResourceList, ResourceQuota } from '../objects.ts';

describe('isEnforced', () => {
  test.each<[string, ResourceQuota, boolean]>([
    ['status.hard is spec.hard', aQuota(), true],
    ['by value', aQuota(specHard({ cpu: '1' }), enforced({ cpu: '1000m' })), true],
    ['status.hard is still higher', aQuota(specHard({ cpu: '1' }), enforced({ cpu: '2' })), false],
    ['status.hard is still lower', aQuota(specHard({ cpu: '2' }), enforced({ cpu: '1' })), false],
    ['a key is not enforced yet', aQuota(specHard({ cpu: '1', pods: '1' }), enforced({ cpu: '1' })), false],
    [
      'a dropped key is enforced still',
      aQuota(specHard({ cpu: '1' }), enforced({ cpu: '1', pods: '1' })),
      false,
    ],
    ['no status yet', aQuota(({ status: _, ...quota }) => quota), false],
    ['no keys, no status', aQuota(({ status: _, ...quota }) => ({ ...quota, spec: {} })), true],
  ])('%s', (_, quota, want) => {
    expect(isEnforced(quota)).toBe(want);
  });
});

describe('enforcesNoMore', () => {
  test.each<[string, [ResourceList, ResourceList | undefined], boolean]>([
    ['status.hard is spec.hard', [{ cpu: '1' }, { cpu: '1' }], true],
    ['by value', [{ cpu: '1' }, { cpu: '1000m' }], true],
    ['enforced higher', [{ cpu: '1' }, { cpu: '1001m' }], false],
    [
      'one of two enforced higher',
      [
        { cpu: '1', pods: '1' },
        { cpu: '1', pods: '2' },
      ],
      false,
    ],
    ['enforced lower', [{ cpu: '2' }, { cpu: '1' }], true],
    ['a key that somebody added is not enforced yet', [{ cpu: '1', pods: '1' }, { cpu: '1' }], true],
    ['a key that somebody dropped is enforced still', [{ cpu: '1' }, { cpu: '1', pods: '1' }], true],
    ['no status yet', [{ cpu: '1' }, undefined], true],
    ['an amount that is hardly one', [{ configmaps: '1e1002' }, { configmaps: '1e1002' }], true],
    ['a text that nobody can count', [{ configmaps: 'many' }, { configmaps: '2' }], true],
  ])('%s', (_, [spec, status], want) => {
    const quota = aQuota(specHard(spec), enforced(status ?? {}));
    expect(enforcesNoMore(quota)).toBe(want);
  });

  test('is the case after the controller worked, and after we lowered what it did not', () => {
    fc.assert(
      fc.property(aHardList, aHardList, (spec, status) => {
        const quota = aQuota(specHard(spec), enforced(status));
        expect(enforcesNoMore(settled()(quota))).toBe(true);
        const lowered = loweredStatus(quota);
        expect(enforcesNoMore(lowered ?? quota)).toBe(true);
        expect(lowered === undefined).toBe(enforcesNoMore(quota));
      }),
    );
  });
});

describe('loweredStatus', () => {
  test.each<[string, [ResourceList, ResourceList], ResourceList | undefined]>([
    [
      'down to the spec',
      [
        { cpu: '1', pods: '1' },
        { cpu: '2', pods: '1' },
      ],
      { cpu: '1', pods: '1' },
    ],
    [
      "a dropped key stays the controller's",
      [{ cpu: '1' }, { cpu: '2', pods: '1' }],
      { cpu: '1', pods: '1' },
    ],
    ['equal already: nothing', [{ cpu: '1' }, { cpu: '1000m' }], undefined],
    [
      'a key that is enforced lower stays so',
      [
        { cpu: '1', pods: '2' },
        { cpu: '2', pods: '1' },
      ],
      { cpu: '1', pods: '1' },
    ],
    ['a key that is not enforced is not added', [{ cpu: '1', pods: '2' }, { cpu: '2' }], { cpu: '1' }],
    ['only lower than it says: nothing', [{ cpu: '2', pods: '2' }, { cpu: '1' }], undefined],
  ])('%s', (_, [spec, status], want) => {
    const quota = aQuota(specHard(spec), enforced(status), used({ cpu: '7' }));
    const lowered = loweredStatus(quota);
    expect(lowered?.status?.hard).toEqual(want);
    if (lowered !== undefined) expect(lowered).toEqual({ ...quota, status: { ...quota.status, hard: want } });
  });

  test('never raises anything, whatever is there', () => {
    fc.assert(
      fc.property(aHardList, aHardList, (spec, status) => {
        const lowered = loweredStatus(aQuota(specHard(spec), enforced(status)));
        for (const [key, text] of Object.entries(lowered?.status?.hard ?? {})) {
          expect(amountOf(text)).toBeLessThanOrEqual(amountOf(status[key]));
        }
      }),
    );
  });
});
