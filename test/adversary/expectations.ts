import { expect } from '@jest/globals';
import { expectSameObjects } from '../integration/support/as-before.ts';
import { breaches } from '../integration/support/invariants.ts';
import type { Adversary, Attacked } from './adversary.ts';
import type { Admitted } from './judge.ts';

/** Nobody got in above an original who had asked after the proof; nothing was done that must never be; and they tried. */
export function expectNobodyStole({ result: { attacked, report } }: Adversary): void {
  expect(attacked.flatMap(({ findings }) => findings.late)).toEqual([]);
  expect(report.never).toEqual([]);
  const windows = attacked.flatMap((one) => one.findings.windows);
  expect(windows.filter(({ isProven }) => !isProven)).toEqual([]);
  for (const { findings } of attacked.filter(isCounted)) expect(findings.inWindows).toBeGreaterThan(0);
}

const isCounted = ({ kind }: Attacked): boolean => kind !== 'careless';

/** In spite of it all: every migration through, every namespace as it was. */
export async function expectAllThrough({ lab, result: { run, attacked } }: Adversary): Promise<void> {
  for (const { tenant, releases } of attacked.filter(isCounted)) {
    // Where every request takes long, a first attempt may fail, and the next one come after more than is waited for here.
    const isSlow = run.slow !== undefined;
    expect(releases.filter(({ isThrough, locks }) => !isThrough && !(isSlow && locks > 0))).toEqual([]);
    // Each one needed a raise.
    expect(releases.filter(({ locks }) => locks === 0)).toEqual([]);
    // An attempt may have failed first: where each request takes long, a raise may be over before the pod's own is answered.
    await expectSameObjects(lab.admin, tenant);
  }
}

/** No invariant was broken at any revision, strangers left aside. */
export function expectUnbroken({ result: { attacked } }: Adversary): void {
  expect(attacked.flatMap(breachesOf)).toEqual([]);
}

/** Strangers were told of already: nobody can stop them. */
function breachesOf({ tenant, findings: { strangers } }: Attacked): string[] {
  return breaches(tenant.history).filter(
    (breach) => !strangers.some(({ what }) => breach.includes(` pod ${what} `)),
  );
}

/** Who had asked before the proof and got in. */
export const strangersOf = ({ result: { attacked } }: Adversary): Admitted[] =>
  attacked.flatMap(({ findings }) => findings.strangers);
