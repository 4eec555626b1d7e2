import { describe, expect, test } from '@jest/globals';
import { aPlan, aPlanMigration, RUN } from '../../../test/support/builders/live.ts';
import { annotated, NOW, seconds } from '../../../test/support/builders/object.ts';
import type { PlanMigration, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION, type LiveReason } from '../../domain/live/names.ts';
import type { RunDecision } from '../run/decision.ts';
import { abandon } from './abandon.ts';

const broken = (uid: string): PlanMigration => aPlanMigration(annotated(LIVE_ANNOTATION.breakGlass, uid));
const GIVEN_UP = broken('uid-of-migration');
const waiting = (reason: LiveReason): RunDecision => ({
  kind: 'wait',
  ...{ step: 'Validate', reason, message: 'no answer' },
});
const UNKNOWN = waiting('ClusterUnknown');

/** The VM's status: for so many seconds a cluster does not answer. */
const shown = (since: number, different: Partial<VmStatus> = {}, type = 'Blocked'): VmStatus => ({
  ...{ id: RUN.vm, namespace: 'vms', name: 'web', phase: 'CreateStandbyVM', pipeline: [] },
  conditions: [
    {
      ...{ type, status: 'True', category: 'Warn', reason: 'ClusterUnknown' },
      lastTransitionTime: seconds(-since),
    },
  ],
  ...different,
});
const given = (vm: VmStatus, migration = GIVEN_UP, decision = UNKNOWN): RunDecision =>
  abandon(decision, { migration, plan: aPlan(), shown: vm, now: NOW });

describe('it goes on', () => {
  test.each<[string, PlanMigration, VmStatus, RunDecision]>([
    ['where no user has given it up', aPlanMigration(), shown(3_600), UNKNOWN],
    ['where the annotation is a copy of another Migration’s', broken('other'), shown(3_600), UNKNOWN],
    ['where it was never shown', GIVEN_UP, shown(0, { conditions: [] }), UNKNOWN],
    ['where both clusters answer: it is canceled', GIVEN_UP, shown(3_600), waiting('Aborting')],
  ])('%s', (_what, ...[migration, vm, decision]) => {
    expect(given(vm, migration, decision)).toBe(decision);
  });
});

test.each([
  ['Waiting', 59, 'wait'],
  ['Waiting', 60, 'ended'],
  ['Blocked', 59, 'wait'],
  ['Blocked', 60, 'ended'],
])('where a cluster has not answered, shown as %s for %i s: %s', (type, since, want) => {
  expect(given(shown(since, {}, type)).kind).toBe(want);
});

test.each([
  [59, 'wait'],
  [60, 'ended'],
])('where a cluster has refused its writes for %i s: %s', (since, want) => {
  const [condition] = shown(since).conditions ?? [];
  const refused = shown(since, { conditions: condition ? [{ ...condition, reason: 'Refused' }] : [] });
  expect(given(refused, GIVEN_UP, waiting('Refused')).kind).toBe(want);
});

test('where it is unknown or refuses in turn: since the older of both', () => {
  const unknown = shown(5).conditions ?? [];
  const refused = unknown.map((each) => ({ ...each, reason: 'Refused', lastTransitionTime: seconds(-60) }));
  const vm = shown(5, { conditions: [...unknown, ...refused] });
  expect(given(vm).kind).toBe('ended');
  expect(given(vm, GIVEN_UP, waiting('Refused')).kind).toBe('ended');
});

const failedWith = (...items: string[]): VmStatus =>
  shown(0, {
    completed: seconds(-9),
    conditions: [
      { type: 'Failed', status: 'True', category: 'Advisory', items, lastTransitionTime: seconds(-9) },
    ],
  });

describe('it ends, and nothing is written', () => {
  const LEFT = [
    'perhaps the record of VirtualMachine vms/web',
    'perhaps VirtualMachine target/web on the target',
    `perhaps what is labelled live.mtq.kubevirt.io/migration=uid-of-migration,live.mtq.kubevirt.io/vm=${RUN.vm}, on both clusters`,
  ];

  test.each<[string, VmStatus, RegExp, readonly string[]]>([
    ['before the cut-over', shown(60), /not seen on the target/, LEFT],
    [
      'past the cut-over',
      shown(60, {
        conditions: [
          ...(shown(60).conditions ?? []),
          { type: 'CutOver', status: 'True', category: 'Advisory', lastTransitionTime: seconds(-90) },
        ],
      }),
      /the VM there may have the newest data/,
      LEFT,
    ],
    [
      'with another name on the target',
      shown(60, { newName: 'web-2' }),
      /./,
      LEFT.map((one) => one.replace('target/web', 'target/web-2')),
    ],
    ['after its end: with what it had left over', failedWith('x'), /./, ['x', LEFT[0] ?? '']],
    [
      'after its end: with the record that could not be taken off',
      failedWith('the record of VirtualMachine vms/web: no'),
      /./,
      ['the record of VirtualMachine vms/web: no'],
    ],
    [
      'after its end, with nothing left over but perhaps its record',
      shown(0, { completed: seconds(-9) }),
      /./,
      LEFT.slice(0, 1),
    ],
  ])('%s', (_what, ...[vm, message, leftovers]) => {
    expect(given(vm)).toEqual({
      ...{ kind: 'ended', as: 'Failed', reason: 'GivenUp', leftovers, recordRemoval: [] },
      message: expect.stringMatching(message),
    });
  });
});
