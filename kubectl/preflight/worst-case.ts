import { canonicalKey } from '../../functions/domain/quota/charged.ts';
import { givingTo } from '../../functions/domain/policy/policy.ts';
import { purposeOf } from '../../functions/domain/policy/purpose.ts';
import { roundToStored, type Amount } from '../../functions/domain/quantity.ts';
import type { Sized } from '../../functions/domain/sizing/missing-pod.ts';
import { beyondGiven, lacked } from '../../functions/domain/verdict/raise-verdict.ts';
import { growthBetween, withGrowth, type Growth } from './charges.ts';
import type { ClusterFacts, NamespaceFacts } from './facts.ts';
import { NamespaceRun } from './namespace-run.ts';
import { isGiveable } from './outcome.ts';
import { podsByVm } from './pods.ts';
import type { Report } from './preflight.ts';
import { surroundingsOf } from './surroundings.ts';
import { purposeOfTask } from './task.ts';
import { planOf, type Move } from './what-if.ts';

/** The need of a VM's pods, and the growth of its quotas when the VM has moved. */
interface Moving {
  readonly move: Move;
  readonly need: readonly Sized[];
  readonly growth: Growth;
}

interface Reported {
  readonly cluster: ClusterFacts;
  /** The report, which says which of the VMs can go at all. */
  readonly report: Report;
}

/**
 * The amounts that the VMMRQs of a namespace give too little of, by canonical key, for the VM that lacks most when it goes after all
 * others.
 */
export function missingIn(facts: NamespaceFacts, { cluster, report }: Reported): Map<string, Amount> {
  const { task } = report;
  const surroundings = surroundingsOf(task, cluster, facts.namespace.metadata.name);
  const run = new NamespaceRun(facts, surroundings);
  const byVm = podsByVm(facts.pods);
  run.finish();
  const { going, kept } = movesIn(facts, { cluster, report });
  // A VM that gets its target launcher, and then lacks its attachment pod for good, keeps what that takes.
  for (const move of kept) run.attempt(move);
  const base = run.quotas;
  const moving = going.map((move): Moving => {
    const before = run.quotas;
    const need = run.needOf(move);
    run.force(move);
    return { move, need, growth: growthBetween(before, run.quotas) };
  });
  const total = sumOfGrowth(moving);
  const most = new Map<string, Amount>();
  for (const { move, need, growth } of moving) {
    const pods = byVm.get(move.vmi.metadata.name) ?? [];
    const purpose = purposeOf({ ...move, pods, nodes: surroundings.nodes });
    if (purpose !== purposeOfTask(task, cluster.state.kubevirt)) continue;
    const quotas = withGrowth(base, withoutOwn(total, growth));
    const beyond = beyondGiven(lacked(need, { quotas }, new Map()), givingTo(facts.vmmrqs, { purpose }), {
      quotas,
    });
    for (const { key, missing } of beyond) raiseTo(most, canonicalKey(key), roundToStored(missing));
  }
  return most;
}

/** The migrations to come, and those that something stops which no VMMRQ changes. */
function movesIn(
  facts: NamespaceFacts,
  { cluster, report }: Reported,
): { readonly going: readonly Move[]; readonly kept: readonly Move[] } {
  const namespace = facts.namespace.metadata.name;
  const stuck = new Set(
    report.vms
      .filter((vm) => vm.namespace === namespace && vm.outcome === 'Stuck' && !isGiveable(vm))
      .map(({ name }) => name),
  );
  const { now, state, onlyOutdated } = cluster;
  const whatIf = { task: report.task, onlyOutdated, now, kubevirt: state.kubevirt };
  const moves = planOf(facts, whatIf).flatMap(({ move, exempt }) => (exempt === undefined ? [move] : []));
  const isStuck = ({ vmi }: Move): boolean => stuck.has(vmi.metadata.name);
  return { going: moves.filter((move) => !isStuck(move)), kept: moves.filter(isStuck) };
}

/** The growth without a decrease: what has shrunk may still be there when a VM goes first. */
const atLeastNothing = (amount: Amount): Amount => (amount > 0n ? amount : 0n);

function sumOfGrowth(moving: readonly Moving[]): Growth {
  const sum = new Map<string, Map<string, Amount>>();
  for (const [uid, amounts] of moving.flatMap(({ growth }) => [...growth])) {
    const of = sum.get(uid) ?? new Map<string, Amount>();
    for (const [key, amount] of amounts) of.set(key, (of.get(key) ?? 0n) + atLeastNothing(amount));
    sum.set(uid, of);
  }
  return sum;
}

const withoutOwn = (total: Growth, own: Growth): Growth =>
  new Map(
    [...total].map(([uid, amounts]) => [
      uid,
      new Map(
        [...amounts].map(([key, amount]) => [key, amount - atLeastNothing(own.get(uid)?.get(key) ?? 0n)]),
      ),
    ]),
  );

function raiseTo(most: Map<string, Amount>, key: string, amount: Amount): void {
  if (amount > (most.get(key) ?? 0n)) most.set(key, amount);
}
