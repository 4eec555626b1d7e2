import type { Blocking } from '../quota/charged.ts';
import type { BlockedMigration } from '../lock.ts';
import type { Reason } from '../names.ts';

/** What can be done for one migration, from nothing to most. Only the last one leads to a lock. */
export const VERDICTS = [
  /** No quota refuses it, as far as KubeVirt says. */
  'NotBlocked',
  /** A raise could help, but not now: KubeVirt's limits, our back-off, others first. */
  'Waiting',
  /** More is missing than the VMMRQs give. */
  'NoFit',
  /** A raise would not help, or is not ours to make. */
  'Unsupported',
  /** The quotas have headroom already: virt-controller only has to look again. */
  'Fits',
  /** The quotas have headroom once they are raised. */
  'FitsWithRaise',
] as const;
export type VerdictName = (typeof VERDICTS)[number];

export interface Verdict {
  readonly migration: BlockedMigration;
  readonly verdict: VerdictName;
  readonly reason: Reason;
  /** Text for people: the problem, and what would help. */
  readonly message: string;
  readonly blocking: readonly Blocking[];
}

/** A verdict without its migration. */
export type VerdictResult = Pick<Verdict, 'verdict' | 'reason' | 'message'> & {
  readonly blocking?: readonly Blocking[];
};

export const verdictResult = (verdict: VerdictName, reason: Reason, message: string): VerdictResult => ({
  verdict,
  reason,
  message,
});
