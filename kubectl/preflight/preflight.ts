import type { VirtualMachineInstance } from '../../functions/domain/objects.ts';
import { REASON } from '../../functions/domain/names.ts';
import { purposeOf } from '../../functions/domain/policy/purpose.ts';
import type { View } from '../../functions/domain/view.ts';
import type { ClusterFacts, NamespaceFacts } from './facts.ts';
import { NamespaceRun, type Attempt } from './namespace-run.ts';
import type { OutcomeName, VmOutcome } from './outcome.ts';
import { podsByVm } from './pods.ts';
import { nodeOf, Slots } from './slots.ts';
import { surroundingsOf } from './surroundings.ts';
import { purposeOfTask, type Task } from './task.ts';
import { planOf, type Move } from './what-if.ts';

export interface Report {
  readonly task: Task;
  /** KubeVirt's parallel limits. */
  readonly limits: View['limits'];
  /** Number of the VMs that migrate at once by these limits. */
  readonly atOnce: number;
  /** Whether only VMs that are outdated already count, because an upgrade has begun. */
  readonly onlyOutdated: boolean;
  /** No dry run has shown whether a webhook or policy refuses the pods or the raises. */
  readonly isUntried?: true;
  /** VMs by namespace and name: the assumed order of their migrations. */
  readonly vms: readonly VmOutcome[];
}

/** What would happen to each VM: first as many as KubeVirt migrates at once, then each of the others alone; pure. */
export function preflight(task: Task, facts: ClusterFacts): Report {
  const slots = new Slots(facts);
  const namespaces = facts.namespaces.map((each) => new NamespaceOutlook(each, task, facts));
  for (const namespace of namespaces) namespace.goAtOnce(slots);
  slots.release();
  for (const namespace of namespaces) namespace.goInTurn(slots);
  const { limits, atOnce } = slots;
  const { onlyOutdated, isUntried } = facts;
  const vms = namespaces.flatMap((namespace) => namespace.outcomes());
  return { task, limits, atOnce, onlyOutdated, ...(isUntried === true ? { isUntried } : {}), vms };
}

/** A VM to move, and its outcome, once that is known. */
interface Entry {
  readonly vmi: VirtualMachineInstance;
  readonly move: Move;
  readonly isLater: boolean;
  /** What its outcome says besides, if it does not go. */
  readonly ifStuck: Pick<VmOutcome, 'waiting'>;
  outcome: Omit<VmOutcome, 'namespace' | 'name' | 'node'> | undefined;
}

class NamespaceOutlook {
  readonly #run: NamespaceRun;
  readonly #entries: readonly Entry[];

  constructor(facts: NamespaceFacts, task: Task, cluster: ClusterFacts) {
    const { now, state, onlyOutdated } = cluster;
    const whatIf = { task, onlyOutdated, now, kubevirt: state.kubevirt };
    const surroundings = surroundingsOf(task, cluster, facts.namespace.metadata.name);
    this.#run = new NamespaceRun(facts, surroundings);
    const pods = podsByVm(facts.pods);
    const wanted = purposeOfTask(task, state.kubevirt);
    const waitingOf = (move: Move): Pick<VmOutcome, 'waiting'> => {
      const own = { ...move, pods: pods.get(move.vmi.metadata.name) ?? [], nodes: surroundings.nodes };
      const purpose = move.isNew ? wanted : purposeOf(own);
      return purpose === wanted ? {} : { waiting: { migration: move.migration.metadata.name, purpose } };
    };
    this.#entries = planOf(facts, whatIf).map(({ move, exempt, isLater }) => ({
      vmi: move.vmi,
      move,
      isLater,
      ifStuck: waitingOf(move),
      outcome: exempt === undefined ? undefined : { ...exempt, by: [], missing: [] },
    }));
  }

  /** Attempts the VMs that KubeVirt has slots for, beside each other. */
  goAtOnce(slots: Slots): void {
    for (const entry of this.#open()) {
      const node = nodeOf(entry.vmi);
      if (entry.isLater || !slots.hasOneFor(node)) continue;
      const attempt = this.#run.attempt(entry.move);
      if (attempt.holdsSlot) slots.take(node);
      if (attempt.goes) entry.outcome = outcomeOf('Passes', attempt);
    }
    this.#run.finish();
  }

  /** Attempts the others, each when those before it have finished. A VM that is stuck with its target pod keeps its slot. */
  goInTurn(slots: Slots): void {
    for (const entry of this.#open()) {
      const node = nodeOf(entry.vmi);
      if (!slots.hasOneFor(node)) {
        entry.outcome = { ...NO_SLOT, by: [], missing: [] };
        continue;
      }
      const attempt = this.#run.attempt(entry.move);
      entry.outcome = attempt.goes
        ? outcomeOf('PassesInTurn', attempt)
        : { ...outcomeOf(failed(attempt), attempt), ...entry.ifStuck };
      if (attempt.holdsSlot && !attempt.goes) slots.take(node);
      this.#run.finish();
    }
  }

  outcomes(): VmOutcome[] {
    return this.#entries.flatMap(({ vmi, outcome }) => {
      const { namespace = '', name } = vmi.metadata;
      return outcome === undefined ? [] : [{ namespace, name, node: nodeOf(vmi), ...outcome }];
    });
  }

  #open(): Entry[] {
    return this.#entries.filter(({ outcome }) => outcome === undefined);
  }
}

/** The outcome of a failed attempt: a reason that only delays a migration is no answer here. */
const failed = ({ verdict, reason }: Attempt): OutcomeName =>
  verdict === 'NoFit' || verdict === 'Unsupported' || reason === REASON.notRecounted ? 'Stuck' : 'CannotTell';

const NO_SLOT = {
  outcome: 'Stuck',
  reason: REASON.parallelLimit,
  message: 'migrations that are stuck with their target pods hold every migration slot',
} as const;

const outcomeOf = (
  outcome: OutcomeName,
  { verdict, reason, message, by, blocking }: Attempt,
): NonNullable<Entry['outcome']> => ({
  outcome,
  reason,
  message: verdict === 'Fits' ? 'the quotas have headroom for it' : message,
  by,
  // To give these amounts would not help where the quota is not recounted.
  missing:
    outcome === 'Stuck' && reason !== REASON.notRecounted
      ? blocking.map(({ quota, shortfalls }) => ({ quota: quota.name, shortfalls }))
      : [],
});
