import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { amountOf, aHardList, aVmmrqList } from '../../../test/support/builders/arbitraries.ts';
import { NOW } from '../../../test/support/builders/object.ts';
import { aQuota, hard, used } from '../../../test/support/builders/quota.ts';
import { aVmmrq, giving, sharing } from '../../../test/support/builders/snapshot.ts';
import { allowanceFrom, percentOf } from './allowance.ts';
import { canonicalKey, isChargedByPods } from './charged.ts';
import { raisedQuota } from './raise.ts';
import { aLock } from '../../../test/support/builders/namespace.ts';
import type { ResourceList, Vmmrq } from '../objects.ts';
import { formatQuantity } from '../quantity.ts';
import { missingOf } from './headroom.ts';

const allowed = (list: ResourceList, key: string, ...vmmrqs: Vmmrq[]): Record<string, string> => {
  const { fixed, max } = allowanceFrom(vmmrqs)(aQuota(hard(list)), key);
  return { fixed: formatQuantity(fixed), max: formatQuantity(max) };
};

const wholly = (...changes: Parameters<typeof aVmmrq>): Vmmrq =>
  aVmmrq(...changes, (vmmrq) => ({ ...vmmrq, spec: { ...vmmrq.spec, raisePolicy: 'Fixed' } }));

describe('allowanceFrom', () => {
  test.each<[string, [ResourceList, Vmmrq[]], [string, string]]>([
    ['no VMMRQ gives anything', [{ cpu: '10' }, []], ['0', '0']],
    ['an amount', [{ cpu: '10' }, [aVmmrq(giving({ 'requests.cpu': '1' }))]], ['0', '1']],
    ['an amount, whole', [{ cpu: '10' }, [wholly(giving({ 'requests.cpu': '1' }))]], ['1', '1']],
    ['a part of what the quota has', [{ cpu: '10' }, [aVmmrq(sharing('30%'))]], ['0', '3']],
    ['a part of a CPU: thousandths', [{ cpu: '1.001' }, [aVmmrq(sharing('33%'))]], ['0', '330m']],
    ['a part of bytes: whole ones', [{ memory: '1000001' }, [aVmmrq(sharing('1%'))]], ['0', '10000']],
    ['a part of few pods: none', [{ pods: '9' }, [aVmmrq(sharing('10%'))]], ['0', '0']],
    [
      'an amount of pods: whole ones',
      [{ pods: '9' }, [wholly(giving({ pods: '1500m' })), wholly(giving({ pods: '700m' }))]],
      ['2', '2'],
    ],
    ['all of it', [{ 'requests.nvidia.com/gpu': '7' }, [aVmmrq(sharing('100%'))]], ['0', '7']],
    [
      'a part of a device, whatever its name ends in: whole ones',
      [{ 'requests.example.com/fast.cpu': '9' }, [aVmmrq(sharing('50%'))]],
      ['0', '4'],
    ],
    ['no quantity of it', [{ cpu: '10' }, [aVmmrq(sharing('300%')), aVmmrq(sharing('x'))]], ['0', '0']],
    [
      'both, and several',
      [{ cpu: '10' }, [aVmmrq(giving({ cpu: '1' }), sharing('10%')), aVmmrq(sharing('5%'))]],
      ['0', '2500m'],
    ],
    [
      'Fixed, Exact, and nothing said: Exact',
      [
        { cpu: '10' },
        [wholly(giving({ cpu: '1' })), aVmmrq(sharing('50%', 'Exact')), aVmmrq(giving({ cpu: '2' }))],
      ],
      ['1', '8'],
    ],
    ['what pods are not charged for', [{ services: '10' }, [aVmmrq(sharing('50%'))]], ['0', '0']],
  ])('%s', (_, [list, vmmrqs], [fixed, max]) => {
    expect(allowed(list, Object.keys(list)[0] ?? '', ...vmmrqs)).toEqual({ fixed, max });
  });

  test('a key that the quota does not have', () => {
    expect(allowed({ cpu: '1' }, 'memory', aVmmrq(giving({ memory: '1Gi' })))).toEqual({
      fixed: '0',
      max: '0',
    });
  });

  test.each([
    ['30%', 30n],
    ['0%', 0n],
    ['100%', 100n],
    ['101%', undefined],
    ['030%', undefined],
    ['30', undefined],
  ])('%s', (text, want) => {
    expect(percentOf(aVmmrq(sharing(text)))).toBe(want);
  });
});

describe('by how much (F29)', () => {
  const QUOTA = aQuota(
    hard({ pods: '10', 'requests.cpu': '4', 'limits.cpu': '8' }),
    used({ pods: '1', 'requests.cpu': '3500m', 'limits.cpu': '2' }),
  );
  const need = { pods: '1', 'requests.cpu': '1', 'limits.cpu': '2' };
  const raised = (quota = QUOTA, ...vmmrqs: Vmmrq[]): ResourceList | undefined =>
    raisedQuota(quota, {
      lock: aLock({ quotas: [{ name: 'quota', uid: 'uid-of-quota', need }] }),
      vmmrqs,
      now: NOW,
    })?.status?.hard;
  const exactly = (...changes: Parameters<typeof aVmmrq>): Vmmrq =>
    aVmmrq(...changes, (vmmrq) => ({ ...vmmrq, spec: { ...vmmrq.spec, raisePolicy: 'Exact' } }));
  const all = giving({ pods: '5', 'requests.cpu': '2', 'limits.cpu': '9' });

  test.each<[string, Vmmrq[], ResourceList]>([
    ['Fixed: the full allowance', [wholly(all)], { pods: '15', 'requests.cpu': '6', 'limits.cpu': '17' }],
    ['Exact: what is missing, where it is', [exactly(all)], { 'requests.cpu': '4500m' }],
    ['Exact: never more than the allowance', [exactly(giving({ cpu: '300m' }))], { 'requests.cpu': '4300m' }],
    ['Exact of a part', [exactly(sharing('50%'))], { 'requests.cpu': '4500m' }],
    [
      'shares of several: once the quota at most',
      [wholly(sharing('60%')), wholly(sharing('60%'))],
      { pods: '20', 'requests.cpu': '8', 'limits.cpu': '16' },
    ],
    [
      'Fixed first, Exact for the rest',
      [wholly(giving({ cpu: '200m', pods: 1 })), exactly(all)],
      { pods: '11', 'requests.cpu': '4500m' },
    ],
  ])('%s', (_, vmmrqs, want) => {
    expect(raised(QUOTA, ...vmmrqs)).toEqual({ ...QUOTA.spec.hard, ...want });
  });

  test('Exact where headroom has returned: no raise at all', () => {
    expect(raised(used({ 'requests.cpu': '3' })(QUOTA), exactly(all))).toBeUndefined();
  });

  test('Exact with an unknown usage: the full allowance', () => {
    const uncounted = aQuota(hard({ 'requests.cpu': '4' }), (quota) => ({
      ...quota,
      status: { hard: { 'requests.cpu': '4' } },
    }));
    expect(raised(uncounted, exactly(all))).toEqual({ 'requests.cpu': '6' });
  });

  test('a lock without a need: the full allowance', () => {
    const want = { pods: '15', 'requests.cpu': '6', 'limits.cpu': '17' };
    const order = { lock: aLock(), vmmrqs: [exactly(all)], now: NOW };
    expect(raisedQuota(QUOTA, order)?.status?.hard).toEqual(want);
  });

  test('any allowance and need: no more than the allowance (I5), and enough where the allowance is enough', () => {
    const anAllowance = fc.record({
      list: aVmmrqList,
      percent: fc.nat({ max: 100 }),
      policy: fc.constantFrom('Fixed' as const, 'Exact' as const),
    });
    fc.assert(
      fc.property(
        aHardList,
        aHardList,
        fc.array(anAllowance, { maxLength: 3 }),
        (list, wanted, allowances) => {
          const vmmrqs = allowances.map(({ list: gives, percent, policy }) =>
            aVmmrq(giving(gives), sharing(`${String(percent)}%`, policy)),
          );
          const quota = aQuota(hard(list), used({}));
          const asked = Object.fromEntries(
            Object.entries(wanted).map(([key, text]) => [canonicalKey(key), text]),
          );
          const written = raisedQuota(quota, {
            lock: aLock({ quotas: [{ name: 'quota', uid: 'uid-of-quota', need: asked }] }),
            vmmrqs,
            now: NOW,
          });
          for (const [key, text] of Object.entries(list)) {
            const by = amountOf(written?.status?.hard?.[key] ?? text) - amountOf(text);
            const { max } = allowanceFrom(vmmrqs)(quota, key);
            const wants = isChargedByPods(key) ? (missingOf(quota, key, asked) ?? 0n) : 0n;
            expect(by).toBeGreaterThanOrEqual(wants < max ? wants : max);
            expect(by).toBeLessThanOrEqual(max);
          }
        },
      ),
    );
  });
});
