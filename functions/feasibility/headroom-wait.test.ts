import { describe, expect, test } from '@jest/globals';
import { aLauncher, aMigration, aTarget, inPhase, ofVm } from '../../test/support/builders/kubevirt.ts';
import { named, seconds, type Change } from '../../test/support/builders/object.ts';
import { aQuota, uncounted } from '../../test/support/builders/quota.ts';
import { aSnapshot, aVmmrq, giving, RULES } from '../../test/support/builders/snapshot.ts';
import { assess } from '../domain/verdict/assessment.ts';
import type { Migration } from '../domain/objects.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { headroomDueWithin } from './headroom-wait.ts';

const waits = (different: Partial<NamespaceSnapshot>): number => {
  const snapshot = aSnapshot({ vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1m' }))], ...different });
  return headroomDueWithin(snapshot, assess(snapshot, RULES));
};

const entered =
  (phase: string, at: string): Change<Migration> =>
  (migration) => ({
    ...migration,
    status: {
      ...migration.status,
      phaseTransitionTimestamps: [
        ...(migration.status?.phaseTransitionTimestamps ?? []),
        { phase, phaseTransitionTimestamp: at },
      ],
    },
  });

/** A migration that moved vm1 so many seconds ago. */
const ended = (ago: number, phase = 'Succeeded'): Migration =>
  aMigration(
    named('mig1'),
    ofVm('vm1'),
    inPhase(phase),
    entered('Running', seconds(0)),
    entered(phase, seconds(-ago)),
  );

/** The refused migration of vm0, and vm1 after that other migration, with both of its launchers or with one. */
const after = (other: Migration, launchers = 2): Partial<NamespaceSnapshot> => ({
  migrations: [aMigration(), other],
  pods: [aLauncher(), ...[aLauncher('vm1'), aTarget(other)].slice(0, launchers)],
});

describe('the source pod of a recent success ends soon', () => {
  test.each<[string, Partial<NamespaceSnapshot>, number]>([
    ['a second ago', after(ended(1)), 8_000],
    ['10 s ago', after(ended(10)), 8_000],
    ['by a clock that is 2 s ahead', after(ended(-2)), 8_000],
    ['11 s ago', after(ended(11)), 0],
    ['by a clock that is 3 s ahead', after(ended(-3)), 0],
    ['at no known time', after(aMigration(named('mig1'), ofVm('vm1'), inPhase('Succeeded'))), 0],
    ['a failure', after(ended(1, 'Failed')), 0],
    ['the source pod is gone: only the recount is due', after(ended(1), 1), 1_000],
    ['another VM has two launchers', { ...after(ended(1), 1), ...pairOf('vm2') }, 1_000],
    ['the namespace has no VMMRQ', { ...after(ended(1)), vmmrqs: [] }, 0],
    ['a raise lets the refused one through', { ...after(ended(1)), vmmrqs: [aVmmrq()] }, 0],
  ])('%s', (_, different, want) => {
    expect(waits(different)).toBe(want);
  });
});

/** Two launchers of a VM, and the one of vm0. */
function pairOf(vm: string): Pick<NamespaceSnapshot, 'pods'> {
  return { pods: [aLauncher(), aLauncher(vm), aTarget(aMigration(named('mig2'), ofVm(vm)))] };
}

describe('a quota that is being counted', () => {
  test('is waited for one second', () => {
    expect(waits({ quotas: [aQuota(uncounted())] })).toBe(1_000);
  });

  test('not in a namespace without a VMMRQ', () => {
    expect(waits({ quotas: [aQuota(uncounted())], vmmrqs: [] })).toBe(0);
  });
});

test('nothing is due where nothing has succeeded', () => {
  expect(waits({})).toBe(0);
});
