import { describe, expect, test } from '@jest/globals';
import { aRun, recorded, summary } from '../../../test/support/builders/live-run.ts';
import { RUN } from '../../../test/support/builders/live.ts';
import { seconds } from '../../../test/support/builders/object.ts';
import { crossHistory, type Moment } from '../../../test/support/live/cross-history.ts';
import { runsOnTarget } from '../guest/cut-over.ts';
import type { VirtualMachine, Vmim } from '../../domain/live/kubevirt.ts';
import { runLabels, vmimName } from '../run/names.ts';
import { recordOf, withRecord, type RunRecord } from '../run/record.ts';
import type { RunSnapshot, Stop } from '../run/snapshot.ts';
import type { RunDecision } from '../run/decision.ts';
import { decide } from './decide.ts';

/** A replay of a recording. Only the record is really written: KubeVirt's part is as it was recorded. */
interface Replayed {
  /** Decisions in their order; a repeated one counts once. */
  readonly decisions: string[];
  /** Moments at which the VM on the target would be deleted though its guest runs there or has left the source. */
  readonly deletedTooSoon: number[];
  readonly record: RunRecord;
}

const STOP: Stop = { reason: 'UserRequested', message: 'canceled' };

/**
 * Replays a run in which KubeVirt acted as recorded, from the moment at which the source's VMIM is there. `stopAt`: seconds at which a user
 * cancels it. `missed`: the seconds from and to which no reconcile happens.
 */
function replay(name: string, stopAt = Infinity, missed = [Infinity, -Infinity]): Replayed {
  const moments = crossHistory(name)
    .filter(hasBothVms)
    .filter(({ seconds: at }) => at < (missed[0] ?? 0) || at > (missed[1] ?? 0));
  const began = moments.findIndex(({ source }) => source.vmim !== undefined);
  const { source, target } = moments[began] ?? {};
  const [vmi = '', receiver = '', receiverVmi = ''] = [source?.vmi, target?.vm, target?.vmi].map(
    (one) => one?.metadata.uid,
  );
  const record = recorded({ attempt: 1, vmi, receiver, receiverVmi });
  const start: Replayed = { decisions: [], deletedTooSoon: [], record };
  return moments.slice(began).reduce((replayed, moment) => lookAt(moment, replayed, stopAt), start);
}

const hasBothVms = ({ source, target }: Moment): boolean =>
  source.vm !== undefined && target.vm !== undefined;

/** Decides until something other than the record is to be written. */
function lookAt(moment: Moment, replayed: Replayed, stopAt: number): Replayed {
  const decision = decide(snapshotOf(moment, replayed.record, stopAt));
  note(replayed.decisions, decision);
  const isDown = moment.source.vmi?.status?.phase !== 'Running';
  if (deletesVm(decision) && (runsOnTarget(moment.target) || isDown))
    replayed.deletedTooSoon.push(moment.seconds);
  const record = writtenBy(decision, replayed.record);
  return record === undefined ? replayed : lookAt(moment, { ...replayed, record }, stopAt);
}

function snapshotOf(moment: Moment, record: RunRecord, stopAt: number): RunSnapshot {
  const { source, target } = moment;
  const vm = source.vm as VirtualMachine;
  const halting = {
    managedFields: [{ manager: 'virt-controller', fieldsV1: { 'f:spec': { 'f:runStrategy': {} } } }],
  };
  const known = { ...vm, metadata: { ...vm.metadata, ...halting, uid: RUN.vm } };
  return aRun({
    hub: { stop: moment.seconds >= stopAt ? STOP : undefined },
    source: {
      ...source,
      vm: withRecord(known, record),
      vmims: ours(source.vmim),
      pods: source.pods,
      setup: undefined,
    },
    target: {
      vm: target.vm && { ...target.vm, metadata: { ...target.vm.metadata, labels: runLabels(RUN) } },
      vmi: target.vmi,
      vmims: ours(target.vmim),
      pods: target.pods,
      setup: undefined,
    },
  });
}

/** The recorded VMIM with the name that the run would give it. */
const ours = (vmim: Vmim | undefined): Vmim[] =>
  vmim === undefined
    ? []
    : [{ ...vmim, metadata: { ...vmim.metadata, name: vmimName(RUN, 1), labels: runLabels(RUN) } }];

function note(decisions: string[], decision: RunDecision): void {
  const text = summary(decision).replaceAll(vmimName(RUN, 1), 'vmim');
  if (decisions.at(-1) !== text) decisions.push(text);
}

const deletesVm = (decision: RunDecision): boolean =>
  decision.kind === 'write' &&
  decision.writes.some(
    ({ verb, on, object }) => verb === 'delete' && on === 'target' && object.kind === 'VirtualMachine',
  );

/** The record that a decision writes; of one that changes the VM too, only the arrival, because the recorded VM does not follow it. */
function writtenBy(decision: RunDecision, before: RunRecord): RunRecord | undefined {
  if (decision.kind !== 'write') return undefined;
  const [write] = decision.writes;
  if (write?.verb !== 'replace' || write.on !== 'source' || write.object.kind !== 'VirtualMachine')
    return undefined;
  const vm = write.object as VirtualMachine;
  const state = recordOf(vm, RUN);
  if (state.kind !== 'ours') return undefined;
  const { marks, arrivedAt } = state.record;
  if (decision.message.startsWith('recording')) return state.record;
  return arrivedAt === before.arrivedAt ? undefined : { ...before, marks, ...(arrivedAt && { arrivedAt }) };
}

const HALT = 'replace VirtualMachine vm0 on source';

describe('recorded successes', () => {
  test.each([
    'success',
    'quota',
    'untrusted',
    'rerunonfailure',
    'source-running-true',
    'leader-change-split',
    'cancel-target-only',
  ])(
    '%s: the cut-over is recorded, then the source VM is halted, and the target VM never touched',
    (name) => {
      const { decisions, deletedTooSoon, record } = replay(name);
      expect(record.marks.length).toBeGreaterThan(0);
      expect(record.arrivedAt).toBe(seconds(0));
      expect(record.end).toBeUndefined();
      expect(decisions).toContain(HALT);
      expect(deletedTooSoon).toEqual([]);
      expect(decisions.filter((text) => text.includes('VirtualMachine vm0 on target'))).toEqual([]);
    },
  );

  test('where KubeVirt ends the source itself, only the VMIM of the target is left to delete', () => {
    expect(replay('success').decisions.slice(-2)).toEqual([
      'wait EndingSource',
      'delete VirtualMachineInstanceMigration vmim on target',
    ]);
  });

  test('a synchronization controller that restarts: the source VM, which KubeVirt starts again, is halted', () => {
    expect(replay('leader-change-split').decisions.at(-1)).toBe(HALT);
  });

  test('a target VMIM that was deleted: the source, which waits for ever, is halted', () => {
    expect(replay('cancel-target-only').decisions.at(-1)).toBe(HALT);
  });
});

describe('recorded failures and cancels', () => {
  test.each<[string, number, string]>([
    ['target-fails', Infinity, 'Failed'],
    ['source-fails', Infinity, 'Failed'],
    ['failed-then-source-crashes', Infinity, 'Failed'],
    ['cancel-running', 2, 'Canceled'],
    ['cancel-source-only', Infinity, 'Failed'],
    ['unreachable', 3, 'Canceled'],
  ])('%s: ends without a mark, and deletes nothing while the source is down', (name, stopAt, as) => {
    const { deletedTooSoon, record } = replay(name, stopAt);
    expect(record).toMatchObject({ marks: [], end: { as } });
    expect(deletedTooSoon).toEqual([]);
  });

  test('a source that KubeVirt halted because its launcher died is started again', () => {
    const { decisions } = replay('source-fails');
    expect(decisions.at(-1)).toBe(HALT);
    expect(decisions).not.toContain('delete VirtualMachine vm0 on target');
  });

  test('a source whose launcher died: the message names that, and no address is missing', () => {
    // The VMIM on the source is gone at 4.12 s, and the one on the target has failed at 4.47 s.
    const [seen, late] = [4.115, 4.46].map((to) => replay('source-fails', Infinity, [3.8, to]));
    expect(seen?.decisions).not.toContain('wait NoAddress');
    const why = 'the VM on the source ended while its guest was being moved';
    expect(seen?.record.end?.message).toBe(why);
    expect(late?.record.end?.message).toBe(`${why}, and the migration has ended`);
  });

  test('a target that has failed: the VMIMs go, then the VM', () => {
    const { decisions } = replay('target-fails');
    expect(decisions.at(-1)).toBe(
      'delete VirtualMachineInstanceMigration vmim on source, delete VirtualMachineInstanceMigration vmim on target',
    );
  });

  test('a cancel while a quota refuses the launcher: the target VMIM first, then the stuck one of the source', () => {
    expect(replay('cancel-blocked-recovered', 4.2).decisions).toEqual(
      expect.arrayContaining(['delete VirtualMachineInstanceMigration vmim on target', 'wait Aborting']),
    );
  });

  test('a cancel that comes after the cut-over changes nothing', () => {
    const { record, decisions } = replay('success', 6.1);
    expect(record).toMatchObject({ arrivedAt: seconds(0) });
    expect(record.end).toBeUndefined();
    expect(decisions).toContain(HALT);
  });
});
