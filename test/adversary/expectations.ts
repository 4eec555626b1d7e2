import { expect } from '@jest/globals';
import { expectSameObjects } from '../support/invariants/as-before.ts';
import { invariantViolations } from '../support/invariants/invariants.ts';
import type { Adversary, Attacked } from './adversary.ts';
import type { AdmittedPod, Window } from './evaluate.ts';

/** No pod that a tenant requested after the proof was admitted, no forbidden write succeeded, and the tenants did try. */
export function expectNoPodAdmitted(adversary: Adversary): void {
  expect(lateOf(adversary)).toEqual([]);
  expectTried(adversary);
}

/** An API server under load sees another server's write within this time. */
const HEARS_WITHIN_MS = 1_000;

/**
 * For a run in which one API server sees the lock late and no step waits for it. Before the raise, a pod may still take
 * headroom of the original quota. A request in flight when that server sees the raise may be reviewed before and charged
 * after it. Raised headroom admits no other pod.
 */
export function expectNoneAdmitted(adversary: Adversary): void {
  const stolen = adversary.result.attacked.flatMap(({ evaluation: { late, windows } }) =>
    late.filter((one) => one.isAbove && !wasUnderWay(one, windows)),
  );
  expect(stolen).toEqual([]);
  expectTried(adversary);
}

const wasUnderWay = ({ received, token }: AdmittedPod, windows: readonly Window[]): boolean =>
  windows.some((window) => window.token === token && Date.parse(received) < window.from + HEARS_WITHIN_MS);

/** Pods that were admitted although their request came after the proof. */
const lateOf = ({ result: { attacked } }: Adversary): AdmittedPod[] =>
  attacked.flatMap(({ evaluation }) => evaluation.late);

function expectTried({ result: { attacked, report } }: Adversary): void {
  expect(report.never).toEqual([]);
  const windows = attacked.flatMap((one) => one.evaluation.windows);
  expect(windows.filter(({ isProven }) => !isProven)).toEqual([]);
  for (const { evaluation } of attacked.filter(isCounted)) expect(evaluation.inWindows).toBeGreaterThan(0);
}

const isCounted = ({ kind }: Attacked): boolean => kind !== 'careless';

/** Checks that the run paused the controllers at each target pod, so that the quotas stayed raised. */
export function expectPaused({ result: { run, attacked, pauses } }: Adversary): void {
  const through = attacked.flatMap(({ cycles }) => cycles.filter(({ isThrough }) => isThrough));
  if (run.pauseMs !== undefined) expect(pauses).toBeGreaterThanOrEqual(through.length);
}

/** Despite the attacks every migration succeeded, and every namespace is as before. */
export async function expectAllThrough({ environment, result: { run, attacked } }: Adversary): Promise<void> {
  for (const { tenant, cycles } of attacked.filter(isCounted)) {
    // With slow requests a first attempt may fail, and the next attempt may come later than this test waits.
    const isSlow = run.slow !== undefined;
    expect(cycles.filter(({ isThrough, locks }) => !isThrough && !(isSlow && locks > 0))).toEqual([]);
    // Each one needed a raise.
    expect(cycles.filter(({ locks }) => locks === 0)).toEqual([]);
    // An attempt may have failed first: with slow requests, a raise may end before the pod's own request is answered.
    await expectSameObjects(environment.admin, tenant);
  }
}

/** No revision violates an invariant, except through pods that other expectations check by their request time. */
export function expectUnbroken({ result: { attacked } }: Adversary): void {
  expect(attacked.flatMap(violationsOf)).toEqual([]);
}

function violationsOf({ tenant, evaluation: { podsOutsideLock, late } }: Attacked): string[] {
  const known = [...podsOutsideLock, ...late];
  return invariantViolations(tenant.history).filter(
    (violation) => !known.some(({ what }) => violation.includes(` pod ${what} `)),
  );
}
