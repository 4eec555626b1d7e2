import { describe, expect, test } from '@jest/globals';
import { aRecord, aVm, RUN } from '../../../test/support/builders/live.ts';
import { annotated, seconds, withUid } from '../../../test/support/builders/object.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION } from '../../domain/live/names.ts';
import {
  isPastCutOver,
  recordOf,
  restoredStrategyOf,
  strategyOf,
  withMarks,
  withoutRecord,
  withRecord,
  withStrategy,
} from './record.ts';

describe('recordOf', () => {
  test('reads what withRecord wrote', () => {
    const record = aRecord((one) => ({ ...one, attempt: 2, hooks: ['PreHook'], halted: true }));
    expect(recordOf(withRecord(aVm(), record), RUN)).toEqual({ kind: 'ours', record });
  });

  test.each<[string, VirtualMachine, object]>([
    ['a VM without a record', aVm(), { kind: 'none' }],
    ['a VM of another run', withRecord(aVm(), aRecord()), { kind: 'foreign', record: aRecord() }],
    [
      'a VM whose record cannot be read: it may be of a later version',
      aVm(annotated(LIVE_ANNOTATION.run, '{"v":2}')),
      { kind: 'foreign', record: undefined },
    ],
    ['a VM with no JSON', aVm(annotated(LIVE_ANNOTATION.run, 'x')), { kind: 'foreign' }],
    [
      'a VM that was created from another one’s manifest, with its record',
      withUid('another')(withRecord(aVm(), aRecord())),
      { kind: 'none' },
    ],
  ])('%s', (_what, vm, state) => {
    expect(recordOf(vm, { ...RUN, migration: 'another' })).toMatchObject(state);
  });

  test('withoutRecord leaves nothing of it, and all else', () => {
    const vm = aVm(annotated('example.com/note', 'stays'));
    expect(withoutRecord(withRecord(vm, aRecord()), undefined)).toEqual(vm);
  });
});

describe('withMarks', () => {
  const [early, late] = [seconds(1), seconds(2)];

  test('has the marks that are seen first, and the arrival, each with its time', () => {
    const once = withMarks(aRecord(), { marks: ['GuestReady'], hasArrived: false }, early) ?? aRecord();
    expect(once.marks).toEqual([{ mark: 'GuestReady', at: early }]);
    expect(withMarks(once, { marks: ['GuestReady', 'Received'], hasArrived: false }, late)).toBeUndefined();
    const twice = withMarks(once, { marks: ['GuestReady', 'Received'], hasArrived: true }, late);
    expect(twice).toEqual({ ...once, arrivedAt: late });
    expect(twice && withMarks(twice, { marks: ['Sent'], hasArrived: true }, seconds(3))).toBeUndefined();
  });

  test('takes none back that is not seen any more', () => {
    const past = aRecord((record) => ({ ...record, marks: [{ mark: 'Sent', at: early }] }));
    expect(withMarks(past, { marks: [], hasArrived: false }, late)).toBeUndefined();
    expect([isPastCutOver(past), isPastCutOver(aRecord())]).toEqual([true, false]);
  });
});

describe('run strategies', () => {
  test.each<[string, VirtualMachine['spec'], string | undefined, string]>([
    ['Always', { ...aVm().spec }, 'Always', 'Always'],
    ['Once', { ...aVm().spec, runStrategy: 'Once' }, 'Once', 'Once'],
    ['running: true', { template: aVm().spec.template, running: true }, 'running', 'Always'],
  ])(
    '%s: recorded, given to the target, and restored in its field',
    (_name, ...[spec, recorded, restored]) => {
      const vm = { ...aVm(), spec };
      const strategy = strategyOf(vm) ?? 'Manual';
      expect(strategy).toBe(recorded);
      expect(restoredStrategyOf({ runStrategy: strategy })).toBe(restored);
      const halted = withStrategy(vm, 'Halted');
      expect(halted.spec).toEqual({ template: spec.template, runStrategy: 'Halted' });
      expect(withStrategy(halted, strategy)).toEqual(vm);
    },
  );

  test.each<[string, Partial<VirtualMachine['spec']>]>([
    ['Halted', { runStrategy: 'Halted' }],
    ['running: false', { running: false }],
    ['a receiver', { runStrategy: 'WaitAsReceiver' }],
  ])('%s: not one of a VM that runs', (_name, spec) => {
    expect(strategyOf({ ...aVm(), spec: { template: aVm().spec.template, ...spec } })).toBeUndefined();
  });
});
