import { ADVICE } from '../../functions/domain/advice.ts';
import { isFinal, isUnexplained } from '../../functions/domain/migration.ts';
import { REASON, type Purpose, type Reason } from '../../functions/domain/names.ts';
import type { Migration } from '../../functions/domain/objects.ts';
import type { NamespaceSnapshot, Rules } from '../../functions/domain/snapshot.ts';
import { assess } from '../../functions/domain/verdict/assessment.ts';
import { refusedClaim } from '../../functions/domain/verdict/blocker.ts';
import type { Evaluated } from '../../functions/domain/verdict/allocation.ts';
import type { VerdictName } from '../../functions/domain/verdict/verdict.ts';
import { vmmrqName } from '../../functions/domain/vmmrq-name.ts';
import { arithmeticOf, type KeyArithmetic } from './arithmetic.ts';

/** Why a migration waits for a quota, or does not. */
export interface Explanation {
  readonly namespace: string;
  readonly migration: string;
  readonly vmi: string;
  readonly phase: string;
  /** The purpose; only where a VMMRQ depends on it. */
  readonly purpose?: Purpose;
  readonly verdict: VerdictName;
  readonly reason: Reason;
  readonly message: string;
  /** Advice for the user; '': nothing to do. */
  readonly advice: string;
  /** The VMMRQs in force, and whether they give to this migration. */
  readonly vmmrqs: readonly { readonly name: string; readonly gives: boolean }[];
  /** The figures; empty: the size of the pod does not matter, or is not known. */
  readonly keys: readonly KeyArithmetic[];
}

/** The verdict that `feasibility` and `lock` would give now, with the figures it is derived from. */
export function explain(migration: Migration, snapshot: NamespaceSnapshot, rules: Rules): Explanation {
  const { uid } = migration.metadata;
  let evaluated: Evaluated | undefined;
  const { verdicts } = assess(snapshot, rules, (each) => {
    // Copy the amounts, because the evaluation adds those of later migrations to them.
    if (each.locked.uid === uid) evaluated = { ...each, reserved: copyOf(each.reserved) };
  });
  const verdict = ifByClaim(
    verdicts.find((each) => each.migration.uid === uid) ?? notBlocked(migration),
    migration,
    snapshot,
  );
  const { purpose } = evaluated?.locked ?? {};
  return {
    namespace: migration.metadata.namespace ?? '',
    migration: migration.metadata.name,
    vmi: migration.spec.vmiName ?? '',
    phase: migration.status?.phase ?? '',
    ...(purpose === undefined ? {} : { purpose }),
    verdict: verdict.verdict,
    reason: verdict.reason,
    message: verdict.message,
    advice: ADVICE[verdict.reason],
    vmmrqs: snapshot.vmmrqs.map((vmmrq) => ({
      name: vmmrqName(vmmrq),
      gives: evaluated?.givers.includes(vmmrq) ?? false,
    })),
    keys: evaluated === undefined ? [] : arithmeticOf(evaluated, snapshot),
  };
}

const copyOf = (reserved: Evaluated['reserved']): Evaluated['reserved'] =>
  new Map([...reserved].map(([quota, amounts]) => [quota, new Map(amounts)]));

type Found = Pick<Explanation, 'verdict' | 'reason' | 'message'>;

/** KubeVirt shows by no condition and no Event that a LimitRange refuses the claim for the VM's state (facts/kubevirt.md §1.3). */
function ifByClaim(found: Found, migration: Migration, snapshot: NamespaceSnapshot): Found {
  const vmi = snapshot.vmis.get(migration.spec.vmiName ?? '');
  if (found.verdict !== 'NotBlocked' || vmi === undefined || !isUnexplained(migration)) return found;
  const blocker = refusedClaim(migration, vmi, snapshot);
  return blocker === undefined ? found : { verdict: 'Unsupported', ...blocker };
}

const notBlocked = (migration: Migration): Found => ({
  verdict: 'NotBlocked',
  reason: REASON.nothingBlocked,
  message: isFinal(migration)
    ? `it has ended: ${migration.status?.phase ?? ''}`
    : 'no quota refuses it, as far as KubeVirt shows',
});
