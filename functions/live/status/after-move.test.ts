import { describe, expect, test } from '@jest/globals';
import { aReceiver, arrived, aWaitingVmi, migrated } from '../../../test/support/builders/live-run.ts';
import { aPlan, aRecord, aVm, itsVmi } from '../../../test/support/builders/live.ts';
import { labelled, seconds, withUid } from '../../../test/support/builders/object.ts';
import { rawText } from '../../../test/support/raw-text.ts';
import type { LiveCondition, VmStatus } from '../../domain/live/forklift.ts';
import type { MigrationState, VirtualMachine } from '../../domain/live/kubevirt.ts';
import { nextConditions, type Finding } from '../../domain/live/conditions.ts';
import { LIVE_LABEL } from '../../domain/live/names.ts';
import { LOST_VMI, withRecord } from '../run/record.ts';
import { movedFindings, withMovedFindings } from '../findings/moved.ts';
import {
  editsFinding,
  lookedAt,
  NEXT_CRASH_THERE,
  overFinding,
  type MovedSide,
  type MovedVm,
} from './after-move.ts';

const condition = (finding: Partial<Finding> & { type: string }): LiveCondition => ({
  ...({ status: 'True', category: 'Advisory', lastTransitionTime: seconds(0), ...finding } as LiveCondition),
});
const CUT_OVER = condition({ type: 'CutOver' });
const SUCCEEDED = condition({ type: 'Succeeded', reason: 'Succeeded' });
const moved = (...findings: readonly Finding[]): VmStatus => ({
  ...{ namespace: 'vms', name: 'web', phase: 'Completed', pipeline: [], completed: seconds(0) },
  conditions: [CUT_OVER, ...findings.map(condition), SUCCEEDED],
});

const BOTH_SIDES: MigrationState = {
  sourceState: { migrationUID: 'sent', syncAddress: '10.8.0.1:9185' },
  targetState: { migrationUID: 'received' },
  completed: true,
};
const LOCAL: MigrationState = { migrationUid: 'local', completed: true };
const withStrategy = (runStrategy: 'Always' | 'Halted', owner = 'kubectl'): VirtualMachine =>
  aReceiver((vm) => ({
    ...vm,
    metadata: {
      ...vm.metadata,
      managedFields: [{ manager: owner, fieldsV1: { 'f:spec': { 'f:runStrategy': {} } } }],
    },
    spec: { ...vm.spec, runStrategy },
  }));
const up = (state: MigrationState): MovedSide => ({
  vm: withStrategy('Always'),
  vmi: aWaitingVmi(arrived, migrated(state)),
});
const ofAnother = labelled(LIVE_LABEL.plan, 'another');
const manual = (vm: VirtualMachine): VirtualMachine => ({
  ...vm,
  spec: { ...vm.spec, runStrategy: 'Manual' },
});
const OFF: MovedSide = {
  vm: aVm((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Halted' } })),
  vmi: undefined,
};
const GONE: MovedSide = { vm: undefined, vmi: undefined };
const ON: MovedSide = { vm: aVm(), vmi: itsVmi() };

const look = (vm: VmStatus, seen: MovedVm): VmStatus =>
  lookedAt(vm, seen, { plan: aPlan(), time: seconds(60) });
const typesOf = ({ conditions = [] }: VmStatus): string => conditions.map(({ type }) => type).join(' ');

describe('a VM that has moved', () => {
  test.each<[string, MovedVm, boolean]>([
    ['has both sides', { target: up(BOTH_SIDES) }, true],
    ['was migrated within its cluster', { target: up(LOCAL) }, false],
    [
      'was halted by KubeVirt',
      { target: { vm: withStrategy('Halted', 'virt-controller'), vmi: undefined } },
      true,
    ],
    ['was stopped by a user', { target: { vm: withStrategy('Halted'), vmi: undefined } }, false],
    ['is gone', { target: GONE }, false],
    ['is not known', {}, true],
  ])('and that the next crash would halt %s', (_what, seen, isStill) => {
    const next = look(moved(NEXT_CRASH_THERE), seen);
    expect(typesOf(next)).toBe(isStill ? 'CutOver NextCrashHalts Succeeded' : 'CutOver Succeeded');
  });

  test.each<[string, MovedSide, boolean]>([
    ['once it is set to Always', up(BOTH_SIDES), true],
    ['not while KubeVirt does not keep it running', { ...up(BOTH_SIDES), vm: aReceiver(manual) }, false],
    [
      'not where no run of the plan has made it',
      { ...up(BOTH_SIDES), vm: ofAnother(withStrategy('Always')) },
      false,
    ],
    ['not once it was halted', { vm: withStrategy('Halted', 'virt-controller'), vmi: undefined }, false],
  ])('that had another strategy in its move has that %s', (_when, target, halts) => {
    expect(typesOf(look(moved(), { target }))).toBe(
      halts ? 'CutOver NextCrashHalts Succeeded' : 'CutOver Succeeded',
    );
  });

  test('keeps the time of what is still so', () => {
    expect(look(moved(NEXT_CRASH_THERE), { target: up(BOTH_SIDES) })).toEqual(moved(NEXT_CRASH_THERE));
  });

  test('that has failed on the source keeps what is so there', () => {
    const { reason: _reason, ...here } = NEXT_CRASH_THERE;
    const vm = moved(here);
    expect(look(vm, { target: up(LOCAL) })).toEqual(vm);
  });

  test.each<[string, MovedVm, string]>([
    ['both are up', { source: ON, target: up(LOCAL) }, 'CutOver RunsOnBoth Succeeded'],
    ['the source is off', { source: OFF, target: up(LOCAL) }, 'CutOver Succeeded'],
    ['the source is gone', { source: GONE, target: up(LOCAL) }, 'CutOver Succeeded'],
    [
      'the target is off',
      { source: ON, target: { vm: withStrategy('Halted'), vmi: undefined } },
      'CutOver Succeeded',
    ],
    ['the target is not known', { source: ON }, 'CutOver Succeeded'],
  ])('runs on both: %s', (_what, seen, wanted) => {
    expect(typesOf(look(moved(), seen))).toBe(wanted);
  });

  test('runs on both until one is seen off', () => {
    const both = look(moved(), { source: ON, target: up(LOCAL) });
    expect(look(both, { source: ON })).toEqual(both);
    expect(typesOf(look(both, { source: OFF }))).toBe('CutOver Succeeded');
  });

  describe('whose run has left something over', () => {
    const vm: VmStatus = {
      ...moved(),
      conditions: [CUT_OVER, { ...SUCCEEDED, type: 'Failed', items: ['the record'] as never }],
    };
    const started = (vmi: string, record = aRecord()): MovedSide => ({
      vm: withRecord(aVm(), record),
      vmi: itsVmi(withUid(vmi)),
    });
    const lost = aRecord((record) => ({ ...record, vmi: LOST_VMI }));

    test.each<[string, MovedSide, string]>([
      ['may only seem to run on both', ON, 'CutOver Failed'],
      ['may only seem so by the VMI that its guest has left', started(aRecord().vmi), 'CutOver Failed'],
      ['may only seem so by a VMI of which nothing is known', started('later', lost), 'CutOver Failed'],
      ['runs on both once it was started again', started('later'), 'CutOver RunsOnBoth Failed'],
    ])('%s', (_what, source, wanted) => {
      expect(typesOf(look(vm, { source, target: up(LOCAL) }))).toBe(wanted);
    });

    test('runs on both until the source is seen off', () => {
      const both = look(vm, { source: started('later'), target: up(LOCAL) });
      expect(look(both, {})).toEqual(both);
      expect(typesOf(look(both, { source: OFF }))).toBe('CutOver Failed');
    });
  });

  const PATHS = ['metadata.labels.tier', 'metadata.labels.app'];
  const pathsAfter = (source: MovedSide, copy: VirtualMachine): string[] =>
    (
      look(moved(...editsFinding(PATHS)), { source, target: { vm: copy, vmi: undefined } }).conditions ?? []
    ).flatMap(({ items = [] }) => items.map(rawText));

  test('keeps those edits that are still not on the target', () => {
    const vm = aVm(
      labelled('tier', 'front'),
      labelled('app', 'shop'),
      labelled('later', 'no edit of the move'),
    );
    expect(pathsAfter({ vm, vmi: undefined }, aVm(labelled('app', 'shop')))).toEqual([
      'metadata.labels.tier',
    ]);
    expect(pathsAfter({ vm, vmi: undefined }, vm)).toEqual([]);
    expect(pathsAfter(GONE, vm)).toEqual([]);
  });

  test('has its excess as it is now', () => {
    const vm = moved(overFinding('by pods=1'));
    const message = (seen: MovedVm): string[] =>
      (look(vm, seen).conditions ?? []).flatMap(({ type, message: text }) =>
        type === 'RestartWouldBeRefused' ? [rawText(text)] : [],
      );
    expect(message({ target: up(LOCAL), over: 'by pods=2' })).toEqual([expect.stringContaining('by pods=2')]);
    expect(message({ target: up(LOCAL), over: '' })).toEqual([]);
    expect(message({ target: GONE, over: 'by pods=2' })).toEqual([]);
    expect(message({ target: up(LOCAL) })).toEqual([expect.stringContaining('by pods=1')]);
  });
});

test('a plan names the VMs of which something lasts, with their fields', () => {
  const other: VmStatus = { ...moved(...editsFinding(['a', 'b'])), name: 'db' };
  const failed = condition({ type: 'NextCrashHalts' });
  const found = movedFindings([
    moved(NEXT_CRASH_THERE),
    other,
    { ...moved(), name: 'stayed', conditions: [failed] },
  ]).map(({ type, reason, items = [] }) => [type, reason, ...items].map((text) => rawText(text)).join(' '));
  expect(found).toEqual(['NextCrashHalts Moved vms/web', 'EditsNotOnTarget Moved vms/db: a, b']);
});

test('a plan says once that the next crash halts VMs, of which one has moved', () => {
  const [before] = nextConditions(
    [],
    [{ ...NEXT_CRASH_THERE, reason: 'MigrationFailed', items: ['vms/db'] }],
    seconds(0),
  );
  const ofCheck = before === undefined ? [] : [before];
  const once = withMovedFindings(ofCheck, [moved(NEXT_CRASH_THERE)], seconds(0));
  expect(once.map(({ type, items }) => [type, items])).toEqual([['NextCrashHalts', ['vms/db', 'vms/web']]]);
  expect(withMovedFindings(once, [moved(NEXT_CRASH_THERE)], seconds(0))).toEqual(once);
});
