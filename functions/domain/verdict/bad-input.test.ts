import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aQuantityText } from '../../../test/support/builders/arbitraries.ts';
import { aContainer, aLauncher, podSpec } from '../../../test/support/builders/kubevirt.ts';
import { named } from '../../../test/support/builders/object.ts';
import { aQuota, hard, used } from '../../../test/support/builders/quota.ts';
import { aFailure } from '../../../test/support/builders/pod-rejection.ts';
import { aSnapshot, aVmmrq, giving, RULES, sharing } from '../../../test/support/builders/snapshot.ts';
import { assess } from './assessment.ts';
import { aLock } from '../../../test/support/builders/namespace.ts';
import { raisedQuota } from '../quota/raise.ts';
import type { ResourceList } from '../objects.ts';
import { statusReport } from './report.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';

const EDGES = [
  '0',
  '1e3',
  '0.1m',
  '1n',
  '0.1n',
  '9Ei',
  '9E',
  '9223372036854775807',
  '.5',
  '1.',
  '1E+2',
  '1e0003',
  '1e1002',
];

const verdictOf = (different: Partial<NamespaceSnapshot>): unknown => {
  const [verdict] = assess(aSnapshot(different), RULES).verdicts;
  return [verdict?.verdict, verdict?.message];
};

describe('amounts at the edges', () => {
  test.each<[string, readonly [ResourceList, ResourceList], unknown]>([
    [
      'a shortfall of a thousandth, within the allowance',
      [{ 'requests.cpu': '2009m' }, { cpu: '1.9m' }],
      ['FitsWithRaise', 'ResourceQuota quota lacks requests.cpu=1m'],
    ],
    [
      'a shortfall of a thousandth, beyond the allowance',
      [{ 'requests.cpu': '2009m' }, { cpu: '0.9m' }],
      [
        'NoFit',
        'ResourceQuota quota lacks requests.cpu=1m; VMMRQ vmmrq gives requests.cpu=0, which is 1m too little',
      ],
    ],
    [
      'in units of another family',
      [{ 'requests.memory': '1412828865' }, { memory: '1.5e9' }],
      ['FitsWithRaise', 'ResourceQuota quota lacks requests.memory=1.32Gi'],
    ],
  ])('%s', (_, [list, gives], want) => {
    const quotas = [aQuota(hard(list), used({ 'requests.cpu': '1005m', 'requests.memory': '1412828864' }))];
    const counted = quotas.map((quota) => ({ ...quota, status: { ...quota.status, hard: list } }));
    expect(verdictOf({ quotas: counted, vmmrqs: [aVmmrq(giving(gives))] })).toEqual(want);
  });

  test.each(EDGES)(
    'a quota, a VMMRQ and a pod of %s: a verdict, and no raise beyond the allowance',
    (edge) => {
      for (const gives of EDGES) {
        const quotas = [
          aQuota(hard({ 'requests.memory': edge, pods: edge }), used({ 'requests.memory': gives })),
        ];
        const pods = [aLauncher('vm0', podSpec({ containers: [aContainer({ memory: gives })] }))];
        const vmmrqs = [aVmmrq(giving({ memory: gives, pods: gives }), sharing('100%', 'Exact'))];
        const { verdicts } = assess(aSnapshot({ quotas, pods, vmmrqs }), RULES);
        expect(verdicts).toHaveLength(1);
      }
    },
  );
});

test('50 quotas of 200 keys each: one verdict, one report', () => {
  const quotas = Array.from({ length: 50 }, (_, index) => {
    const keys = Array.from(
      { length: 200 },
      (__, key) => [`requests.example.com/r${String(key)}`, '0'] as const,
    );
    const list = { ...Object.fromEntries(keys), 'requests.cpu': `${String(1_000 + index)}m` };
    return aQuota(named(`quota-${String(index)}`), hard(list), used({ 'requests.cpu': '1005m' }));
  });
  const snapshot = aSnapshot({ quotas });
  const { verdicts, quotas: toRaise } = assess(snapshot, RULES);
  expect(toRaise).toHaveLength(50);
  // The lock is an annotation of the namespace, and those may have 256 KiB together.
  expect(JSON.stringify(toRaise).length).toBeLessThan(16 * 1024);
  expect(statusReport(aVmmrq(), snapshot, verdicts).conditions?.length).toBeGreaterThan(0);
});

test('any quotas, VMMRQs, pods and Events: a verdict, never a crash', () => {
  const aKey = fc.oneof(
    fc.constantFrom(
      'cpu',
      'requests.cpu',
      'pods',
      'limits.memory',
      'services',
      '__proto__',
      'constructor',
      '',
    ),
    fc.string({ maxLength: 8 }),
  );
  const aList = fc.dictionary(aKey, aQuantityText, { noNullPrototype: true, maxKeys: 6 });
  const anyText = fc.oneof(aQuantityText, fc.string({ maxLength: 6 }), fc.integer());
  const anyList = fc.dictionary(aKey, anyText, { noNullPrototype: true, maxKeys: 6 });
  fc.assert(
    fc.property(fc.tuple(aList, aList), anyList, fc.string(), ([limits, spent], gives, text) => {
      const quotas = [aQuota(hard(limits), used(spent))];
      const pods = [aLauncher('vm0', podSpec({ containers: [aContainer(spent, limits)] }))];
      const vmmrqs = [aVmmrq(giving(gives)), aVmmrq(sharing(text, 'Exact'))];
      const snapshot = aSnapshot({ quotas, pods, vmmrqs, events: [aFailure(text)] });
      const { verdicts, quotas: toRaise } = assess(snapshot, RULES);
      expect(verdicts).toHaveLength(1);
      for (const quota of quotas) {
        raisedQuota(quota, { lock: aLock({ quotas: [...toRaise] }), vmmrqs, now: 0 });
      }
    }),
  );
});
