import { REASON, type Purpose } from '../../functions/domain/names.ts';
import type { Shortfall } from '../../functions/domain/quota/charged.ts';

/** What happens to a VM, from best to worst. */
export const OUTCOMES = [
  /** KubeVirt migrates the VM at once. */
  'Passes',
  /** KubeVirt migrates the VM when those before it have finished. */
  'PassesInTurn',
  /** KubeVirt stops the VM instead of migrating it. */
  'Restarted',
  /** A quota, or another component that refuses its pods, keeps the VM where it is. */
  'Stuck',
  /** KubeVirt cannot migrate the VM live, and waits. */
  'NotMigratable',
  /** The known facts are not enough. */
  'CannotTell',
] as const;
export type OutcomeName = (typeof OUTCOMES)[number];

/** What one quota lacks for a VM that is stuck. */
export interface MissingAmounts {
  readonly quota: string;
  readonly shortfalls: readonly Shortfall[];
}

export interface VmOutcome {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly outcome: OutcomeName;
  /** A reason of a verdict (names.ts), of a report on maintenance, or of the VM's own condition. */
  readonly reason: string;
  readonly message: string;
  /** The VMMRQs by which it passes. */
  readonly by: readonly string[];
  readonly missing: readonly MissingAmounts[];
  /** The migration that waits already, where what is given to the task's migrations is not given to it. */
  readonly waiting?: Waiting;
}

/** An unfinished migration of a VM, beside which KubeVirt makes no other. */
export interface Waiting {
  readonly migration: string;
  readonly purpose: Purpose | undefined;
}

/** "migration move-vm (UserRequested)" */
export const describeWaiting = ({ migration, purpose }: Waiting): string =>
  `migration ${migration} (${purpose ?? 'purpose unknown'})`;

/** Reasons why a VM is stuck that a VMMRQ changes. */
const GIVEABLE: readonly string[] = [REASON.notEnough, REASON.noVmmrq, REASON.purposeNotServed];

export const isGiveable = ({ outcome, reason }: VmOutcome): boolean =>
  outcome === 'Stuck' && GIVEABLE.includes(reason);
