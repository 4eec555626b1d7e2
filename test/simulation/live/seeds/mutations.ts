import type { Edit } from '../../seeds/mutations.ts';
import type { Rule } from '../checker.ts';
import { STRATEGIES } from '../world/clusters.ts';

/** A defect that the simulation must catch, as one of these rules. */
export interface LiveMutation {
  readonly name: string;
  readonly breaks: readonly string[];
  readonly edits: readonly Edit[];
}

const DEADLINES = 'functions/live/run/deadlines.ts';
const CUT_OVER = 'functions/live/guest/cut-over.ts';
const END_SOURCE = 'functions/live/guest/end-source.ts';
const UNDO = 'functions/live/steps/undo.ts';
const PROOFS = 'functions/live/guest/proofs.ts';
const RUN = 'functions/live/steps/decide.ts';
const MOVED_TO = 'functions/live/guest/moved-to.ts';
const LOCAL = 'functions/live/steps/local-migration.ts';
const VM_STATUS = 'functions/live/status/vm.ts';
const MOVE = 'functions/live/migration/move-vm.ts';
const SKIP_ENDED = 'functions/live/migration/skip-ended-vm.ts';
const RECONCILE = 'functions/live/migration/reconcile.ts';
const APPLY = 'functions/live/migration/apply.ts';
const FINALIZERS = 'functions/live/migration/finalizers.ts';
const HOOK = 'functions/live/steps/hook.ts';
const STOP = 'functions/live/run/stop.ts';

const mutation = (name: string, breaks: readonly Rule[], ...edits: readonly Edit[]): LiveMutation => ({
  name,
  breaks,
  edits,
});
const edit = (file: string, find: string, replace: string): Edit => ({ file, find, replace });

const NOT_HALTED = "if (vm.spec.running ?? vm.spec.runStrategy !== 'Halted') return halt(snapshot);";

/** After the end is shown, by which a run that begins meanwhile goes back too. Alone it is seldom seen: begun-late.test.ts. */
const UNRECORDED_UNSEEN = edit(
  RECONCILE,
  '&& isUnrecordedEnd(one)',
  "&& isUnrecordedEnd(one) && one.entry.name === ''",
);

/** Each with what shows it. Those that are left out are seen with another one, or with the arrival. */
const MARKS = [
  ['guestReady', 'isGuestReady(sent) || isGuestReady(received) || wasGuestReady(target.vmim)'],
  ['postCopy', 'isPostCopy(sides)'],
] as const;

export const MUTATIONS: readonly LiveMutation[] = [
  mutation(
    'nothing but the arrival is a mark of the cut-over',
    // Without a mark the copy on the target goes (L2), or the source is started beside it (L1).
    ['L1', 'L2'],
    edit(
      CUT_OVER,
      'return Object.values(MARK).filter((mark) => marks[mark]);',
      'return Object.values(MARK).filter(() => false);',
    ),
  ),
  ...MARKS.map(([mark, seen]) =>
    mutation(
      `${mark} is no mark of the cut-over`,
      ['L1', 'L2', 'L3'],
      edit(CUT_OVER, `[MARK.${mark}]: ${seen},`, `[MARK.${mark}]: false,`),
    ),
  ),
  mutation(
    'the VMI of the source is deleted before its strategy is changed',
    ['L1'],
    edit(
      END_SOURCE,
      NOT_HALTED,
      NOT_HALTED.replace('if (', 'if (vmi === undefined && (').replace(') return', ')) return'),
    ),
  ),
  ...STRATEGIES.map((strategy) =>
    mutation(
      `a source VM of run strategy ${strategy} is not halted`,
      // KubeVirt starts one that is to run Once as fast as its VMI is deleted.
      [strategy === 'Once' ? 'L4' : 'L1'],
      edit(
        END_SOURCE,
        NOT_HALTED,
        NOT_HALTED.replace('if (', `if (record.runStrategy !== '${strategy}' && (`).replace(
          ') return',
          ')) return',
        ),
      ),
    ),
  ),
  mutation(
    'a VMI that was started again on the source is ended though the target is down',
    ['L2'],
    edit(END_SOURCE, ' && !isTargetUp(snapshot))', ' && record.attempt > 99 && !isTargetUp(snapshot))'),
  ),
  mutation(
    'the VM on the target goes without a proof',
    ['L1', 'L2', 'L3'],
    edit(
      UNDO,
      'const isProved = isSourceAlive',
      'const isProved = snapshot.record.attempt > 0 || isSourceAlive',
    ),
  ),
  mutation(
    'the source is started again with another strategy',
    ['L3'],
    edit(UNDO, 'isOwnHold ? HELD.from : record.runStrategy', "isOwnHold ? HELD.from : 'Manual'"),
  ),
  mutation(
    'the VM on the target goes before the VMIMs',
    ['L2', 'L3'],
    edit(UNDO, 'if (!isFree) return aborted;', 'if (!isFree && !record(snapshot)) return aborted;'),
    edit(UNDO, "return decision.kind === 'done' ? aborted : decision;", 'return decision;'),
    edit(
      UNDO,
      'const recordProof =',
      'const record = (snapshot: RecordedRun): boolean => snapshot.record.attempt > 0;\n\nconst recordProof =',
    ),
  ),
  mutation(
    'the record goes before the target is clean',
    ['L3'],
    edit(
      RUN,
      "  if (decision.kind === 'done') {",
      "  if (decision.kind === 'done' || run.record.attempt === 0) {",
    ),
  ),
  mutation(
    'a drain of the source is waited for without end',
    ['L4'],
    edit(DEADLINES, 'busy: 60 * MINUTE,', 'busy: 60_000_000 * MINUTE,'),
  ),
  mutation(
    'a target namespace that is being deleted is waited for without end',
    ['L4'],
    edit(DEADLINES, 'namespace: 15 * MINUTE,', 'namespace: 15_000_000 * MINUTE,'),
  ),
  mutation(
    'a source VM is halted again as fast as its owner starts it',
    ['L4'],
    edit(DEADLINES, 'haltAgain: 10_000,', 'haltAgain: 0,'),
  ),
  mutation(
    'the run ends when an owner has just started the source VM',
    ['L1'],
    edit(DEADLINES, 'staysOff: 10 * MINUTE,', 'staysOff: 0,'),
  ),
  mutation(
    'a start that KubeVirt undoes unseen is none',
    ['L1'],
    edit(END_SOURCE, 'if (!isUnseen || record.undone', "if (!isUnseen || record.vmi !== '' || record.undone"),
  ),
  mutation(
    'every source VM that is on after the arrival was started again',
    ['L4'],
    edit(END_SOURCE, 'if (record.halted === true) return', 'if (record.attempt > 0) return true;\n return'),
  ),
  mutation(
    'a VM of the older form stays down',
    ['L4'],
    edit(PROOFS, '(isOfOldForm(vm) && hasFailedState(vmi)) ||', ''),
  ),
  mutation(
    'a VM whose migration ended before it began stays down',
    ['L4'],
    edit(PROOFS, '    (isKeptRunning(vm) && isUnfinished(vmi) && others.every(isGoneOrFinal))', 'false'),
  ),
  mutation(
    'a VMIM of the source that lost its VMI is waited for',
    ['L4'],
    edit(END_SOURCE, "return freeStuckVmim('source', sent, source) ?? waiting;", 'return waiting;'),
  ),
  mutation(
    'a VMIM that is over is waited for as long as there is a VMI of its name',
    ['L4'],
    edit(
      'functions/live/guest/abort.ts',
      'vmi === undefined || isFinal(vmim);',
      "vmi === undefined || (isFinal(vmim) && vmim.metadata.name === '');",
    ),
  ),
  mutation(
    'a VMIM of the source that is over is waited for while its VM does not run',
    ['L4'],
    edit(UNDO, 'if (freed !== undefined) return freed;', ''),
  ),
  mutation(
    'a success does not ask whether the guest runs on the target',
    ['L4'],
    edit(RUN, '...(asksForGuest(run) ? [TARGET_RUNS] : []),', ''),
  ),
  mutation(
    'a hook that failed hides that no guest runs on the target',
    ['L4'],
    edit(RUN, 'record.end?.reason !== LIVE_REASON.targetNotRunning;', 'finalOutcome(record) === undefined;'),
  ),
  mutation(
    'a source VM of RerunOnFailure keeps its strategy while it moves',
    ['L1'],
    edit(
      'functions/live/guest/hold.ts',
      'if (vm.spec.runStrategy !== HELD.from)',
      'if (vm.spec.runStrategy !== HELD.to || record.held !== true)',
    ),
  ),
  mutation(
    'a source VM stays Manual that was set so while it moved',
    ['L3'],
    edit(
      'functions/live/run/record.ts',
      'isFreed ? withStrategy(vm, HELD.from) : vm;',
      'isFreed ? withStrategy(vm, HELD.to) : vm;',
    ),
  ),
  mutation(
    'a source VM is started that was stopped while it moved',
    ['L3'],
    edit(
      'functions/live/run/record.ts',
      '(vmi === undefined || isPastCutOver(record))',
      '(vm === undefined || isPastCutOver(record))',
    ),
  ),
  mutation(
    'a user is advised to delete a VM that may have the newest data',
    ['L2'],
    edit(
      'functions/live/steps/wait-for-state-transfer.ts',
      'so both stay as they are`',
      'so delete the VM on the target`',
    ),
  ),
  mutation(
    'what KubeVirt has forgotten of a VM whose source was deleted is waited for',
    ['L4'],
    edit(
      'functions/live/steps/without-source.ts',
      'isSettled ? removeVmims(snapshot) : freeStuckVmims(snapshot)',
      'DONE',
    ),
    edit(
      'functions/live/steps/without-source.ts',
      "import { wait, type Ended, type RunDecision } from '../run/decision.ts';",
      "import { DONE, wait, type Ended, type RunDecision } from '../run/decision.ts';",
    ),
  ),
  mutation(
    'nothing says that the guest is on the target once its source VM was deleted',
    ['L4'],
    edit(
      'functions/live/guest/has-moved.ts',
      'snapshot.source.vm === undefined &&',
      'snapshot.source.vm === null &&',
    ),
  ),
  mutation(
    'an empty target is no end',
    ['L4'],
    edit(
      UNDO,
      'return isEmpty && made?.volumes.length === 0;',
      'return isEmpty && made?.volumes.length === -1;',
    ),
  ),
  mutation(
    'a run that has ended begins again',
    ['L5'],
    edit(
      RUN,
      'if (hub.status?.completed !== undefined) return shownEnd(hub.status);',
      "if (snapshot.run.vm === '') return shownEnd(hub.status);",
    ),
    edit(SKIP_ENDED, 'if (!hasNothingLeft(shown))', "if (entry.id !== '')"),
  ),
  mutation(
    'a run begins by a Migration that has changed meanwhile',
    ['L3', 'L4', 'L5'],
    edit(MOVE, 'if (isUnrecorded && !(await isUnchanged', "if (run.hubId === '' && !(await isUnchanged"),
  ),
  mutation(
    'the end of a run that has not begun is not recorded',
    ['L3', 'L4'],
    edit(RUN, 'if (refused !== undefined) return ended(', "if (refused !== 'never') return ended("),
    UNRECORDED_UNSEEN,
  ),
  mutation(
    'a record that is removed after the end takes what is left over out of sight',
    ['L3', 'L4'],
    edit(RUN, 'if (!hasNothingLeft(hub.status) && ', 'if (hub.status?.completed === undefined && '),
  ),
  mutation(
    'what is left over is not waited for',
    ['L4'],
    edit(RECONCILE, '|| decision.leftovers.length === 0),', '|| decision.leftovers.length >= 0),'),
  ),
  mutation(
    'the Migration is released with the record on the source VM',
    ['L4'],
    edit(
      RECONCILE,
      "if ([...first.values()].some(({ kind }) => kind !== 'written') || mayBeRemoved(again) || isUnrecorded)",
      'if (mayBeRemoved(again) || isUnrecorded)',
    ),
  ),
  mutation(
    'a write that another one has overtaken counts as done',
    ['L4'],
    edit(APPLY, 'if (isAlreadyExists(error))', 'if (isAlreadyExists(error) || isConflict(error))'),
  ),
  mutation(
    'a Plan that was deleted is held for ever',
    ['L4'],
    edit(FINALIZERS, 'if (plan !== undefined && ', 'if (plan === undefined && '),
  ),
  mutation(
    'a Migration whose Plan or Provider went first is held for ever',
    ['L4'],
    edit(RECONCILE, 'if (isClosed(migration))', "if (isClosed(migration) && at.name === '')"),
  ),
  mutation(
    'the deletion of a Provider is no cancel',
    ['L3'],
    edit(
      STOP,
      'providerObjects.filter(({ metadata }) =>',
      "providerObjects.filter(({ metadata, kind }) => kind === '' &&",
    ),
  ),
  mutation(
    'a user gives the run up by any value',
    ['L4'],
    edit(
      'functions/live/run/break-glass.ts',
      'metadata.annotations?.[LIVE_ANNOTATION.breakGlass] === metadata.uid;',
      'metadata.annotations?.[LIVE_ANNOTATION.breakGlass] !== undefined;',
    ),
  ),
  mutation(
    'a run that is given up holds its Migration',
    ['L4'],
    edit(
      RECONCILE,
      '(isGivenUp(migration) || decision',
      "((isGivenUp(migration) && plan.kind === '') || decision",
    ),
  ),
  mutation(
    'a write that is refused is waited for without end',
    ['L4'],
    edit(DEADLINES, 'refused: 15 * MINUTE,', 'refused: 15_000_000 * MINUTE,'),
  ),
  mutation(
    'the rights of the user are not asked for again',
    ['L6'],
    edit(MOVE, 'if (rights.length === 0) return undefined;', 'if (rights.length >= 0) return undefined;'),
  ),
  mutation(
    'a VM that is over its quota for good is not shown',
    ['L8'],
    edit('functions/live/status/vm.ts', "[snapshot?.target.over ?? '']", "['']"),
  ),
  ...['migration', 'plan'].map((one) =>
    mutation(
      `the deletion of the ${one} is no cancel`,
      ['L3'],
      edit(STOP, 'if ([migration, plan].some(', `if ([${one === 'plan' ? 'migration' : 'plan'}].some(`),
    ),
  ),
  mutation(
    'an archived plan goes on',
    ['L3'],
    edit(STOP, 'plan.spec.archived === true', 'plan.spec.archived === null'),
  ),
  mutation(
    'a cancel is not heard',
    ['L3'],
    edit(
      STOP,
      'isCanceled(vm, { migration, plan })\n',
      'isCanceled(vm, { migration, plan }) === undefined\n',
    ),
  ),
  mutation(
    'a cancel that comes too late ends the run',
    ['L4'],
    edit('functions/live/run/outcome.ts', 'return isLate ? undefined : end;', 'return end;'),
  ),
  mutation(
    'a hook counts as succeeded at once',
    ['L5'],
    edit(HOOK, '(status?.succeeded ?? 0) > 0;', '(status?.succeeded ?? 0) >= 0;'),
  ),
  mutation(
    'a hook runs again once its Job is gone',
    ['L4', 'L5'],
    edit(HOOK, 'hooks: [...record.hooks, step]', 'hooks: record.hooks'),
  ),
  mutation(
    'the PostHook runs before the source VM is off',
    ['L5'],
    edit(
      RUN,
      '    TRANSFER,\n    ...(isOpen(run) ? [POST_HOOK] : []),',
      '...(isOpen(run) ? [POST_HOOK] : []), TRANSFER,',
    ),
  ),
  mutation(
    'a success does not wait for the PostHook',
    ['L5'],
    edit(RUN, '...(isOpen(run) ? [POST_HOOK] : []),', ''),
  ),
  mutation(
    'a VM that has moved does not say so',
    ['L1'],
    edit(MOVED_TO, 'if (!isThere) return vm;', "if (vm.kind !== '') return vm;"),
  ),
  mutation(
    'a migration within the target is not recorded',
    ['L4'],
    edit(LOCAL, 'withRecord(vm, { ...record, local: true })', 'withRecord(vm, record)'),
  ),
  mutation(
    'a success does not show that the next crash halts the VM',
    ['L8'],
    edit(VM_STATUS, '...haltsThere(snapshot), ', ''),
  ),
  mutation(
    'a success does not show which edits are not on the target',
    ['L8'],
    edit(VM_STATUS, ', ...editsOf(snapshot)]', ']'),
  ),
];

/** Throws when there is none. */
export function mutationNamed(name: string): LiveMutation {
  const found = MUTATIONS.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new Error(
    `no mutation is named '${name}'; there are: ${MUTATIONS.map((one) => one.name).join('; ')}`,
  );
}
