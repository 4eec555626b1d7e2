import { describe, expect, test } from '@jest/globals';
import { aRecord, aVm } from '../../../test/support/builders/live.ts';
import { recorded } from '../../../test/support/builders/live-run.ts';
import { annotated, seconds } from '../../../test/support/builders/object.ts';
import type { RunStrategy, VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION } from '../../domain/live/names.ts';
import { withRecord, type RunRecord } from '../run/record.ts';
import { movedBy } from './vm-in-use.ts';

const of = (strategy: RunStrategy): VirtualMachine =>
  aVm((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: strategy } }));
const HALTED = of('Halted');
const ALWAYS = of('Always');
const MANUAL = of('Manual');

const REMOVE = `kubectl annotate vm web -n vms ${LIVE_ANNOTATION.run}-`;
const movedAt = (at: string): string =>
  `${REMOVE} '${LIVE_ANNOTATION.movedTo}={"vm":"target/web","cluster":"target","at":"${at}"}'`;

const IS_IN_USE =
  'the VM is moved by the Migration tenant/migration of uid 6f1f3fb2-9e4a-4f0c-a6d5-2f3c5c1a9b10: wait for its end. If it is gone, or ' +
  'ended long ago, ';
const MAY_BE = 'its guest may be on the target: compare this VM and target/web on cluster target before. ';
const HAS_ARRIVED = 'its guest has arrived as target/web on cluster target: ';
const [arrivedAt, at] = [seconds(9), seconds(7)];
const MARKED = { attempt: 1, marks: [{ mark: 'GuestReady' as const, at }] };

describe('the record of another run', () => {
  test.each<[string, VirtualMachine, Partial<RunRecord>, string]>([
    [
      'of a guest that cannot have left',
      ALWAYS,
      {},
      `see that the VM runs on the source alone, then there: ${REMOVE}`,
    ],
    [
      'of a guest that has arrived: nobody starts the old copy',
      HALTED,
      { ...MARKED, arrivedAt, halted: true },
      `${HAS_ARRIVED}leave this one off, then on its own cluster: ${movedAt(arrivedAt)}`,
    ],
    [
      'of a guest that has arrived, and whose old copy is not off',
      ALWAYS,
      { ...MARKED, arrivedAt },
      `${HAS_ARRIVED}compare both, because this one is not off, then on its own cluster: ${movedAt(arrivedAt)}`,
    ],
    [
      'of a guest that was seen on the target',
      HALTED,
      MARKED,
      `${MAY_BE}If it is there: ${movedAt(at)}. If it is on this one alone: ${REMOVE}`,
    ],
    [
      'of a guest that may have left since',
      ALWAYS,
      { attempt: 1 },
      `${MAY_BE}If it is there: ${movedAt(seconds(-60))}. If it is on this one alone: ${REMOVE}`,
    ],
    [
      'of a VM that the run keeps Manual',
      MANUAL,
      { attempt: 1, held: true },
      `${MAY_BE}If it is there: ${movedAt(seconds(-60))}. If it is on this one alone: ${REMOVE}, and give it its runStrategy RerunOnFailure again`,
    ],
  ])('%s', (_what, vm, record, advice) => {
    expect(movedBy(withRecord(vm, recorded(record)))).toBe(IS_IN_USE + advice);
  });

  test('that cannot be read may be of a guest that has left', () => {
    expect(movedBy(aVm(annotated(LIVE_ANNOTATION.run, '{"v":2}')))).toBe(
      `the annotation ${LIVE_ANNOTATION.run} of the VM cannot be read: unless another Migration moves it, see that no guest of it is on ` +
        `another cluster, then on its own: ${REMOVE}`,
    );
  });

  test('does not end the argument of the command by a quote of its own', () => {
    const target = { cluster: "x'; echo '", namespace: 'target', name: 'web' };
    const text = movedBy(withRecord(HALTED, recorded({ ...MARKED, arrivedAt, target }))) ?? '';
    const [, argument = ''] = /moved-to=(.*)'$/.exec(text) ?? [];
    expect(argument).not.toContain("'");
    expect(JSON.parse(argument)).toMatchObject({ cluster: target.cluster });
  });
});

test('a VM without a record is free', () => {
  expect(movedBy(aVm())).toBeUndefined();
  expect(movedBy(withRecord(aVm(), aRecord()))).toBeDefined();
});
