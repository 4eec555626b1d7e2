import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { amountOf, aHardList, aVmmrqList } from '../../../test/support/builders/arbitraries.ts';
import {
  annotated,
  atVersion,
  labelled,
  named,
  NOW,
  seconds,
} from '../../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  hard,
  holding,
  holdingUnreadably,
  ownerOf,
} from '../../../test/support/builders/quota.ts';
import { aVmmrq, giving } from '../../../test/support/builders/snapshot.ts';
import { amountsGiven, canonicalKey, isChargedByPods } from './charged.ts';
import { grantOf, raisedQuota, type Grant, type RaiseOrder } from './grant.ts';
import { ANNOTATION, LABEL } from '../names.ts';
import type { AmountList, ResourceList, ResourceQuota, Vmmrq } from '../objects.ts';
import { storableOf } from '../quantity.ts';

const order = (...vmmrqs: Vmmrq[]): RaiseOrder => ({
  token: 'token-1',
  migrations: [
    { name: 'mig0', uid: 'u0', vmi: 'v0' },
    { name: 'mig1', uid: 'u1', vmi: 'v1', lacks: 'attachment' },
  ],
  vmmrqs,
  now: NOW,
});

const raised = (quota: ResourceQuota, ...lists: AmountList[]): ResourceQuota | undefined =>
  raisedQuota(quota, order(...lists.map((list) => aVmmrq(giving(list)))));

function grantIn(quota: ResourceQuota | undefined): Grant {
  const state = quota === undefined ? undefined : grantOf(quota);
  if (state?.kind !== 'held') throw new Error('no grant');
  return state.grant;
}

describe('raisedQuota', () => {
  test('raises, and writes the way back in the same object', () => {
    const quota = aQuota(annotated('team', 'blue'), labelled('env', 'test'), atVersion('7'));
    const written = raisedQuota(quota, order(aVmmrq()));

    expect(written?.spec.hard).toEqual({
      pods: '10',
      'requests.cpu': '2605m',
      'requests.memory': '3614838464',
    });
    expect(grantIn(written)).toEqual({
      v: 1,
      token: 'token-1',
      raisedAt: seconds(0),
      original: { 'requests.cpu': '1405m', 'requests.memory': '2041974464' },
      raised: { 'requests.cpu': '2605m', 'requests.memory': '3614838464' },
      vmmrqs: [{ name: 'vmmrq', uid: 'uid-of-vmmrq' }],
      managers: { 'requests.cpu': [], 'requests.memory': [] },
    });
    expect(written?.metadata).toMatchObject({
      resourceVersion: '7',
      annotations: { team: 'blue', [ANNOTATION.migrations]: 'u0/v0,u1/hotplug-disk' },
      labels: { env: 'test', [LABEL.raised]: 'true' },
    });
    expect(written?.status).toEqual(quota.status);
    expect(grantOf(quota)).toEqual({ kind: 'none' });
  });

  test.each<[string, { hard: ResourceList; gives: AmountList[]; want: ResourceList | undefined }]>([
    [
      'an original is kept to the letter, however it is written',
      {
        hard: { 'requests.cpu': '1500m', memory: '2Gi' },
        gives: [{ cpu: '1', memory: '1' }],
        want: { 'requests.cpu': '2500m', memory: '2147483649' },
      },
    ],
    [
      'by whatever name the quota has it',
      {
        hard: { cpu: '1', 'count/pods': '3', 'hugepages-2Mi': '0' },
        gives: [{ 'requests.cpu': '1', pods: 1, 'requests.hugepages-2Mi': '2Mi' }],
        want: { cpu: '2', 'count/pods': '4', 'hugepages-2Mi': '2097152' },
      },
    ],
    [
      'the same under two names: both, by the same',
      {
        hard: { cpu: '1', 'requests.cpu': '2' },
        gives: [{ cpu: '1', 'requests.cpu': '1' }],
        want: { cpu: '2', 'requests.cpu': '3' },
      },
    ],
    [
      'several VMMRQs add up',
      { hard: { cpu: '1' }, gives: [{ cpu: '1' }, { 'requests.cpu': '250m' }], want: { cpu: '2250m' } },
    ],
    [
      'only keys that the quota has: none is added',
      {
        hard: { cpu: '1' },
        gives: [{ cpu: '1', memory: '1Gi', 'limits.cpu': '1' }],
        want: { cpu: '2' },
      },
    ],
    [
      'only keys that pods are charged for',
      {
        hard: { cpu: '1', 'requests.storage': '1Gi', services: '1', persistentvolumeclaims: '1' },
        gives: [{ cpu: '1', 'requests.storage': '9Gi', services: '9', persistentvolumeclaims: '9' }],
        want: { cpu: '2', 'requests.storage': '1Gi', services: '1', persistentvolumeclaims: '1' },
      },
    ],
    ['nothing that it has: no raise', { hard: { cpu: '1' }, gives: [{ memory: '1Gi' }], want: undefined }],
    ['zero: no raise', { hard: { cpu: '1' }, gives: [{ cpu: '0' }, { cpu: '0m' }], want: undefined }],
    [
      'less than nothing: no raise, and never a lowering',
      { hard: { cpu: '1' }, gives: [{ cpu: '-1' }], want: undefined },
    ],
    ['no VMMRQ: no raise', { hard: { cpu: '1' }, gives: [], want: undefined }],
    ['a quota without keys: no raise', { hard: {}, gives: [{ cpu: '1' }], want: undefined }],
    [
      'what is finer than a thousandth is given together, and in whole ones',
      { hard: { cpu: '1' }, gives: [{ cpu: '1500.5m' }, { cpu: '0.7m' }], want: { cpu: '2501m' } },
    ],
  ])('%s', (_, { hard: list, gives, want }) => {
    const written = raised(aQuota(hard(list)), ...gives);
    expect(written?.spec.hard).toEqual(want);
    if (written === undefined || want === undefined) return;
    const changed = Object.entries(list).filter(([key, text]) => want[key] !== text);
    expect(grantIn(written).original).toEqual(Object.fromEntries(changed));
    expect(grantIn(written).raised).toEqual(Object.fromEntries(changed.map(([key]) => [key, want[key]])));
  });

  test('a quota without spec.hard is left alone', () => {
    expect(
      raised(
        aQuota((quota) => ({ ...quota, spec: {} })),
        { cpu: '1' },
      ),
    ).toBeUndefined();
  });

  test('records every VMMRQ that gave', () => {
    const both = raisedQuota(aQuota(), order(aVmmrq(), aVmmrq(named('other'))));
    expect(grantIn(both).vmmrqs).toEqual([
      { name: 'vmmrq', uid: 'uid-of-vmmrq' },
      { name: 'other', uid: 'uid-of-other' },
    ]);
  });

  test('records who owns each raised key, to hand it back', () => {
    const managedFields = [
      ownerOf('pods', 'requests.cpu')({ manager: 'kubectl', operation: 'Update', time: seconds(-9) }),
      ownerOf('requests.cpu', 'requests.memory')({ manager: 'argo', operation: 'Apply' }),
    ];
    const quota = aQuota((one) => ({ ...one, metadata: { ...one.metadata, managedFields } }));
    const argo = { manager: 'argo', operation: 'Apply', apiVersion: 'v1' };
    expect(grantIn(raisedQuota(quota, order(aVmmrq()))).managers).toEqual({
      'requests.cpu': [
        { manager: 'kubectl', operation: 'Update', apiVersion: 'v1', time: seconds(-9) },
        argo,
      ],
      'requests.memory': [argo],
    });
  });

  test.each<[string, unknown]>([
    ['names only', ['argo']],
    ['no list', 'argo'],
    ['of an operation that there is not', [{ manager: 'argo', operation: 'Own', apiVersion: 'v1' }]],
    ['a name that the API server refuses', [{ manager: 'a\u0001', operation: 'Apply', apiVersion: 'v1' }]],
    ['a name that is too long', [{ manager: 'ä'.repeat(65), operation: 'Apply', apiVersion: 'v1' }]],
    ['no time', [{ manager: 'argo', operation: 'Apply', apiVersion: 'v1', time: 'yesterday' }]],
  ])('owners that cannot be handed back (%s) cost the way back nothing', (_, owners) => {
    const text = JSON.stringify({ ...aGrant(), managers: { 'requests.cpu': owners } });
    const want = aGrant({ managers: { 'requests.cpu': [] } });
    expect(grantOf(aQuota(holdingUnreadably(text)))).toEqual({ kind: 'held', grant: want });
  });

  test('I5: no key is raised by more than the VMMRQs give for it, no key is added, dropped or lowered', () => {
    fc.assert(
      fc.property(aHardList, fc.array(aVmmrqList, { maxLength: 3 }), (list, lists) => {
        const vmmrqs = lists.map((gives) => aVmmrq(giving(gives)));
        const given = amountsGiven(vmmrqs);
        const now = raisedQuota(aQuota(hard(list)), order(...vmmrqs))?.spec.hard ?? list;
        expect(Object.keys(now)).toEqual(Object.keys(list));
        for (const [key, text] of Object.entries(now)) {
          const more = amountOf(text) - amountOf(list[key]);
          const most = isChargedByPods(key) ? storableOf(given.get(canonicalKey(key)) ?? 0n) : 0n;
          expect([key, more]).toEqual([key, most]);
        }
      }),
    );
  });

  test('I5: of no key more than the VMMRQs themselves say of it, by that name or the other', () => {
    fc.assert(
      fc.property(aHardList, fc.array(aVmmrqList, { maxLength: 3 }), (list, lists) => {
        const now = raised(aQuota(hard(list)), ...lists)?.spec.hard ?? list;
        for (const [key, text] of Object.entries(now)) {
          const most = lists.flatMap((gives) => {
            const said = Object.entries(gives).filter(([name]) => canonicalKey(name) === canonicalKey(key));
            return said.length === 0 ? [] : [said.map(([, each]) => amountOf(each)).reduce(max)];
          });
          expect(amountOf(text) - amountOf(list[key])).toBeLessThanOrEqual(most.reduce(sum, 0n));
        }
      }),
    );
  });
});

const max = (one: bigint, other: bigint): bigint => (one > other ? one : other);
const sum = (one: bigint, other: bigint): bigint => one + other;

describe('grantOf', () => {
  test('none', () => {
    expect(grantOf(aQuota())).toEqual({ kind: 'none' });
    expect(grantOf(aQuota(annotated(ANNOTATION.lastRelease, 'token-0')))).toEqual({ kind: 'none' });
  });

  test('held, of a version that is not known too', () => {
    expect(grantOf(aQuota(holding(aGrant({ v: 9 }))))).toEqual({ kind: 'held', grant: aGrant({ v: 9 }) });
  });

  test.each<[string, object]>([
    ['left out', { vmmrqs: undefined, managers: undefined, raisedAt: undefined }],
    ['of another shape', { vmmrqs: 'vmmrq', managers: [1], raisedAt: 12 }],
  ])('what other versions may write otherwise is %s: the way back is read all the same (I2)', (_, others) => {
    const text = JSON.stringify({ ...aGrant({ v: 2 }), ...others });
    expect(grantOf(aQuota(holdingUnreadably(text)))).toEqual({
      kind: 'held',
      grant: { ...aGrant({ v: 2 }), vmmrqs: [], managers: {}, raisedAt: '1970-01-01T00:00:00.000Z' },
    });
  });

  test('the label without the annotation is unreadable, not nothing', () => {
    expect(grantOf(aQuota(labelled(LABEL.raised)))).toMatchObject({ kind: 'malformed' });
  });

  test('the annotation without the label is a grant', () => {
    expect(grantOf(aQuota(annotated(ANNOTATION.grant, JSON.stringify(aGrant()))))).toMatchObject({
      kind: 'held',
    });
  });

  const without = (key: keyof Grant): string => JSON.stringify({ ...aGrant(), [key]: undefined });
  test.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['null', 'null'],
    ['no version', without('v')],
    ['no token', without('token')],
    ['no originals', without('original')],
    ['nothing raised', without('raised')],
    ['an original that is no quantity', JSON.stringify(aGrant({ original: { cpu: 'much' } }))],
    ['an original that no quota may have', JSON.stringify(aGrant({ original: { cpu: '-1' } }))],
    ['an original that is a number', JSON.stringify({ ...aGrant(), original: { cpu: 1 } })],
    ['a raised amount that is no quantity', JSON.stringify(aGrant({ raised: { cpu: '1 Gi' } }))],
  ])('%s: malformed, and it says why', (_, text) => {
    expect(grantOf(aQuota(holdingUnreadably(text)))).toEqual({
      kind: 'malformed',
      why: expect.stringMatching(/./),
    });
  });
});
