import type { Edit } from '../mutations.ts';
import type { Rule } from './checker.ts';
import { STRATEGIES } from './clusters.ts';

/** A defect that the simulation must catch, as one of these rules. */
export interface LiveMutation {
  readonly name: string;
  readonly breaks: readonly string[];
  readonly edits: readonly Edit[];
}

const DEADLINES = 'functions/domain/live/deadlines.ts';
const CUT_OVER = 'functions/domain/live/cut-over.ts';
const END_SOURCE = 'functions/domain/live/end-source.ts';
const UNDO = 'functions/live/undo/decide.ts';
const RUN = 'functions/live/decide.ts';

const mutation = (name: string, breaks: readonly Rule[], ...edits: readonly Edit[]): LiveMutation => ({
  name,
  breaks,
  edits,
});
const edit = (file: string, find: string, replace: string): Edit => ({ file, find, replace });

const NOT_HALTED = "if (vm.spec.running ?? vm.spec.runStrategy !== 'Halted') return halt(snapshot);";

export const MUTATIONS: readonly LiveMutation[] = [
  mutation(
    'a guest that is ready on the target is no mark of the cut-over',
    ['L2'],
    edit(
      CUT_OVER,
      '[MARK.guestReady]: isGuestReady(sent) || isGuestReady(received),',
      '[MARK.guestReady]: false,',
    ),
  ),
  mutation(
    'nothing but the arrival is a mark of the cut-over',
    ['L2'],
    edit(
      CUT_OVER,
      'return Object.values(MARK).filter((mark) => marks[mark]);',
      'return Object.values(MARK).filter(() => false);',
    ),
  ),
  mutation(
    'a failed migration counts as completed',
    ['L2', 'L3'],
    edit(CUT_OVER, 'state?.completed === true && state.failed !== true;', 'state?.completed === true;'),
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
      ['L1'],
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
    edit(UNDO, 'const isProved = isSourceAlive', 'const isProved = record.attempt > 0 || isSourceAlive'),
  ),
  mutation(
    'the source is started again without a proof',
    ['L1'],
    edit(
      UNDO,
      'if (isHaltedByMigration(snapshot)) return',
      'if (isHaltedByMigration(snapshot) || isHaltedByKubeVirt(snapshot)) return',
    ),
  ),
  mutation(
    'a target without anything counts as a proof',
    ['L1'],
    edit(UNDO, 'const isProved = isSourceAlive', 'const isProved = hasNothing(snapshot) || isSourceAlive'),
  ),
  mutation(
    'the source is started again with another strategy',
    ['L3'],
    edit(
      UNDO,
      'object: withStrategy(vm, record.runStrategy)',
      "object: withStrategy(vm, record.attempt > 99 ? record.runStrategy : 'Manual')",
    ),
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
    'a record that was removed comes back only while there is a VM on the target',
    ['L3'],
    edit(RUN, '&& madeObjects(snapshot).length > 0)', '&& madeReceiver(snapshot).length > 0)'),
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
    'a VM of the older form stays down',
    ['L4'],
    edit(
      'functions/domain/live/proofs.ts',
      'if (running !== true || ',
      'if (record.attempt < 99 || running !== true || ',
    ),
  ),
  mutation(
    'a VMIM of the source that lost its VMI is waited for',
    ['L4'],
    edit(END_SOURCE, "return forget('source', sent, source) ?? waiting;", 'return waiting;'),
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
];

/** Throws when there is none. */
export function mutationNamed(name: string): LiveMutation {
  const found = MUTATIONS.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new Error(
    `no mutation is named '${name}'; there are: ${MUTATIONS.map((one) => one.name).join('; ')}`,
  );
}
