import { expect } from '@jest/globals';
import { LABEL } from '../../functions/domain/names.ts';
import { RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import { isEnforced } from '../../functions/domain/restore.ts';
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

/** In spite of it all: every migration through, every namespace as it was, no invariant broken at any revision. */
export async function expectAllThrough({ lab, result: { run, attacked } }: Adversary): Promise<void> {
  for (const { tenant, releases } of attacked.filter(isCounted)) {
    // Where every request takes long, a first attempt may fail, and the next one come after more than is waited for here.
    const isSlow = run.slow !== undefined;
    expect(releases.filter(({ isThrough, locks }) => !isThrough && !(isSlow && locks > 0))).toEqual([]);
    // Each one needed a raise.
    expect(releases.filter(({ locks }) => locks === 0)).toEqual([]);
    await tenant.history.until('it is unlocked', (history) => !history.isLocked());
    // An attempt may have failed first: where each request takes long, a raise may be over before the pod's own is answered.
    await expectSameObjects(lab.admin, tenant);
  }
}

/** The careless ones hurt only themselves: when they stop, their namespaces come to rest too. */
export async function expectAtRest({ result: { attacked } }: Adversary): Promise<void> {
  for (const one of attacked) {
    const { tenant } = one;
    await tenant.history.until(
      `${tenant.name} is at rest`,
      (history) => {
        const quota = history.latest(RESOURCE_QUOTAS, 'tight');
        const isRaised = quota?.metadata.labels?.[LABEL.raised] !== undefined;
        return !history.isLocked() && !isRaised && quota !== undefined && isEnforced(quota);
      },
      REST_MS,
    );
    expect(breachesOf(one)).toEqual([]);
  }
}

/** Lifetime of a lock, 15 s (I3), and as much again for a machine that is busy. */
const REST_MS = 90_000;

/** Strangers were told of already: nobody can stop them. */
function breachesOf({ tenant, findings: { strangers } }: Attacked): string[] {
  return breaches(tenant.history).filter(
    (breach) => !strangers.some(({ what }) => breach.includes(` pod ${what} `)),
  );
}

/** Who had asked before the proof and got in. */
export const strangersOf = ({ result: { attacked } }: Adversary): Admitted[] =>
  attacked.flatMap(({ findings }) => findings.strangers);
