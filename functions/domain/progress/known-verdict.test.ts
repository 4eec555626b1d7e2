import { expect, test } from '@jest/globals';
import { aVmmrq } from '../../../test/support/builders/snapshot.ts';
import type { Condition, Vmmrq } from '../objects.ts';
import { knownVerdict } from './known-verdict.ts';

const condition = (
  ...[type, reason, message, status = 'True']: [string, string, string, Condition['status']?]
): Condition => ({ type, status, reason, message });
const reporting = (...conditions: Condition[]): Vmmrq => ({
  ...aVmmrq(),
  status: { conditions, migrationsToBlockingResourceQuotas: { mig0: ['quota'] } },
});
const LINES = 'mig0: requests.cpu is short\nmig1: the back-off runs\nFree quota.';

test.each<[string, readonly Vmmrq[], ReturnType<typeof knownVerdict>]>([
  ['without a VMMRQ', [], { reason: 'NoVirtualMachineMigrationResourceQuota' }],
  ['with one that was never reported on', [aVmmrq()], undefined],
  [
    'with one that reports nothing',
    [reporting(condition('Blocking', 'NothingBlocked', 'none', 'False'))],
    undefined,
  ],
  ['with one that reports others', [reporting(condition('Blocking', 'NotEnough', 'mig1: x'))], undefined],
  [
    'with its own line',
    [reporting(condition('Blocking', 'NotEnough', LINES))],
    { reason: 'NotEnough', message: 'requests.cpu is short', quotas: ['quota'] },
  ],
  [
    'that NotEnough is about, beside others',
    [
      aVmmrq(),
      reporting(
        condition('Blocking', 'BackOff', `mig9: y\n${LINES}`),
        condition('NotEnough', 'NotEnough', 'mig0: z'),
      ),
    ],
    { reason: 'NotEnough', message: 'requests.cpu is short', quotas: ['quota'] },
  ],
])('the last verdict about a migration in a namespace %s', (_, vmmrqs, want) => {
  expect(knownVerdict('mig0', vmmrqs)).toEqual(want);
});
