import { expect } from '@jest/globals';
import { expectSameObjects } from '../support/as-before.ts';
import { invariantViolations } from '../support/invariants.ts';
import type { Adversary, Attacked } from './adversary.ts';
import type { AdmittedPod, Window } from './evaluate.ts';

/** Nobody got in while locked who had asked after the proof; nothing was done that must never be; and they tried. */
export function expectNoPodAdmitted(adversary: Adversary): void {
  expect(lateOf(adversary)).toEqual([]);
  expectTried(adversary);
}

/** An API server under load hears of another one's write within this. */
const HEARS_WITHIN_MS = 1_000;

/**
 * As expectNoPodAdmitted, where one API server hears of the lock late and nobody waits: there somebody may still get into the
 * room that is his by the original, before the raise; and who is under way in that server when it hears of the raise may be
 * judged before and counted after. Nobody else gets into what was raised.
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

/** Who had asked after the proof and got in all the same. */
export const lateOf = ({ result: { attacked } }: Adversary): AdmittedPod[] =>
  attacked.flatMap(({ evaluation }) => evaluation.late);

function expectTried({ result: { attacked, report } }: Adversary): void {
  expect(report.never).toEqual([]);
  const windows = attacked.flatMap((one) => one.evaluation.windows);
  expect(windows.filter(({ isProven }) => !isProven)).toEqual([]);
  for (const { evaluation } of attacked.filter(isCounted)) expect(evaluation.inWindows).toBeGreaterThan(0);
}

const isCounted = ({ kind }: Attacked): boolean => kind !== 'careless';

/** The controllers stood still at each target pod, so that the quotas stayed raised: what the run is for. */
export function expectPaused({ result: { run, attacked, pauses } }: Adversary): void {
  const through = attacked.flatMap(({ cycles }) => cycles.filter(({ isThrough }) => isThrough));
  if (run.pauseMs !== undefined) expect(pauses).toBeGreaterThanOrEqual(through.length);
}

/** In spite of it all: every migration through, every namespace as it was. */
export async function expectAllThrough({ environment, result: { run, attacked } }: Adversary): Promise<void> {
  for (const { tenant, cycles } of attacked.filter(isCounted)) {
    // Where every request takes long, a first attempt may fail, and the next one come after more than is waited for here.
    const isSlow = run.slow !== undefined;
    expect(cycles.filter(({ isThrough, locks }) => !isThrough && !(isSlow && locks > 0))).toEqual([]);
    // Each one needed a raise.
    expect(cycles.filter(({ locks }) => locks === 0)).toEqual([]);
    // An attempt may have failed first: where each request takes long, a raise may be over before the pod's own is answered.
    await expectSameObjects(environment.admin, tenant);
  }
}

/** No invariant was broken at any revision, left aside who is judged by when he asked. */
export function expectUnbroken({ result: { attacked } }: Adversary): void {
  expect(attacked.flatMap(violationsOf)).toEqual([]);
}

function violationsOf({ tenant, evaluation: { podsOutsideLock, late } }: Attacked): string[] {
  const known = [...podsOutsideLock, ...late];
  return invariantViolations(tenant.history).filter(
    (violation) => !known.some(({ what }) => violation.includes(` pod ${what} `)),
  );
}
