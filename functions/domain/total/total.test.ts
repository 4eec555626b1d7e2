import { describe, expect, test } from '@jest/globals';
import { named } from '../../../test/support/builders/object.ts';
import { aQuota, hard } from '../../../test/support/builders/quota.ts';
import { aClusterVmmrq, aVmmrq, giving, withTotal } from '../../../test/support/builders/snapshot.ts';
import type { AmountList, ClusterVmmrq, Vmmrq } from '../objects.ts';
import { formatQuantity, parseQuantity } from '../quantity.ts';
import type { Amounts } from '../quota/charged.ts';
import { beyondTotal, takenByLock, takenOf, totalOf } from './total.ts';

const texts = (amounts: Amounts): Record<string, string> =>
  Object.fromEntries([...amounts].map(([key, amount]) => [key, formatQuantity(amount)]));
const amounts = (list: Readonly<Record<string, string>>): Amounts =>
  new Map(Object.entries(list).map(([key, text]) => [key, parseQuantity(text)]));

const cluster = (gives: AmountList, total: AmountList, name = 'drains'): ClusterVmmrq =>
  withTotal(total)(giving(gives)(aClusterVmmrq(named(name))) as ClusterVmmrq);
const fixed = <T extends Vmmrq>(vmmrq: T): T => ({ ...vmmrq, spec: { ...vmmrq.spec, raisePolicy: 'Fixed' } });
const CPU = cluster({ cpu: '2' }, { 'requests.cpu': '10' });

test('the total has canonical keys, and only a cluster-wide VMMRQ has one', () => {
  expect(texts(totalOf(cluster({ cpu: 1 }, { cpu: '1', pods: 2 })) ?? new Map())).toEqual({
    'requests.cpu': '1',
    pods: '2',
  });
  expect([totalOf(aClusterVmmrq()), totalOf(aVmmrq())]).toEqual([undefined, undefined]);
});

describe('what a raise takes of a total', () => {
  const QUOTA = aQuota(hard({ cpu: '10', 'requests.memory': '10Gi' }));
  const CASES: Record<string, readonly [ClusterVmmrq, readonly Vmmrq[], Record<string, string>, object]> = {
    'all of it, from the only one': [CPU, [], { cpu: '1500m' }, { 'requests.cpu': '1500m' }],
    'at most what it gives': [CPU, [], { cpu: '3' }, { 'requests.cpu': '2' }],
    'nothing, where the namespace’s own VMMRQ is enough': [
      CPU,
      [aVmmrq(giving({ cpu: '2' }))],
      { cpu: '1500m' },
      {},
    ],
    'the rest of what the others give': [
      CPU,
      [aVmmrq(giving({ cpu: '1' })), aClusterVmmrq(named('more'), giving({ cpu: '200m' }) as never)],
      { cpu: '1500m' },
      { 'requests.cpu': '300m' },
    ],
    'as much of each of two totals': [
      CPU,
      [cluster({ cpu: '1' }, { cpu: '1' }, 'other')],
      { cpu: '1500m' },
      { 'requests.cpu': '1500m' },
    ],
    'all that it gives, with policy Fixed': [
      fixed(CPU),
      [aVmmrq(giving({ cpu: '2' }))],
      { cpu: '2' },
      { 'requests.cpu': '2' },
    ],
    'nothing of a key without a total': [
      cluster({ cpu: '2', memory: '2Gi' }, { memory: '5Gi' }),
      [],
      { cpu: '1', 'requests.memory': '1Gi' },
      { 'requests.memory': String(1_024 ** 3) },
    ],
  };
  test.each(Object.entries(CASES))('%s', (_, [vmmrq, others, raised, want]) => {
    const raises = Object.entries(raised).map(([key, text]) => [key, parseQuantity(text)] as const);
    expect(texts(takenOf(vmmrq, [vmmrq, ...others], { quota: QUOTA, raises }))).toEqual(want);
  });
});

test('a lock takes the sum of what each of its quotas lacks', () => {
  const full = aQuota(hard({ 'requests.cpu': '1005m' }));
  const other = aQuota(named('other'), hard({ 'requests.cpu': '1505m' }));
  const need = { 'requests.cpu': '1' };
  const locked = [
    { quota: full, need },
    { quota: other, need },
    { quota: aQuota(named('roomy'), hard({ 'requests.cpu': '9' })), need },
  ];
  expect(texts(takenByLock(CPU, [CPU], locked))).toEqual({ 'requests.cpu': '1500m' });
});

test('beyond the total is only what its keys have more', () => {
  const total = amounts({ 'requests.cpu': '1', pods: '3' });
  expect(beyondTotal(total, amounts({ 'requests.cpu': '1', 'requests.memory': '9Gi' }))).toEqual([]);
  expect(beyondTotal(total, amounts({ 'requests.cpu': '1500m' }))).toEqual([
    { key: 'requests.cpu', missing: parseQuantity('500m') },
  ]);
});
