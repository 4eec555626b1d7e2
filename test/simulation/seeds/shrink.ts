import { invariantOf } from '../checker/invariant.ts';
import type { InjectedFault } from '../world/faults.ts';
import { run, type RunResult } from '../world/run.ts';
import { scenarioOf, type Scenario } from '../world/scenario.ts';

/** The smallest known failure that violates the same invariant. */
export interface Shrunk {
  readonly scenario: Scenario;
  readonly faults: readonly InjectedFault[];
  readonly result: RunResult;
}

const SIMPLER: readonly ((scenario: Scenario) => Scenario)[] = [
  (scenario) => ({ ...scenario, tenants: 0 }),
  (scenario) => ({ ...scenario, tenants: Math.min(scenario.tenants, 1) }),
  (scenario) => ({ ...scenario, migrations: 1 }),
  (scenario) => ({ ...scenario, guards: 1 }),
  (scenario) => ({ ...scenario, broken: undefined }),
  (scenario) => ({ ...scenario, servers: 1, areListed: true, settleMs: 0 }),
  (scenario) => ({ ...scenario, quotas: Object.fromEntries(Object.entries(scenario.quotas).slice(0, 1)) }),
  (scenario) => ({ ...scenario, quotaMs: 20 }),
  (scenario) => ({ ...scenario, lagMs: 5 }),
  (scenario) => ({ ...scenario, pacing: { ...scenario.pacing, longDelayRate: 0 } }),
  (scenario) => ({ ...scenario, pacing: { ...scenario.pacing, suspendRate: 0.1 } }),
  (scenario) => ({ ...scenario, isOrderly: true }),
  (scenario) => ({ ...scenario, steps: Math.floor(scenario.steps / 2) }),
];

/** Removes one part after the other while the same invariant is violated. undefined: the seed violates none. */
export async function shrink(seed: number): Promise<Shrunk | undefined> {
  const scenario = scenarioOf(seed);
  const first = await run(scenario);
  if (first.violation === undefined) return undefined;
  const invariant = invariantOf(first.violation);
  let best: Shrunk = { scenario, faults: first.happened, result: first };
  const attempt = async (options: Pick<Shrunk, 'scenario' | 'faults'>): Promise<boolean> => {
    const result = await run(options.scenario, { plan: options.faults });
    if (result.violation === undefined || invariantOf(result.violation) !== invariant) return false;
    // Faults that did not occur are not needed.
    best = { ...options, faults: result.happened, result };
    return true;
  };
  for (let size = Infinity; best.faults.length + best.result.steps < size;) {
    size = best.faults.length + best.result.steps;
    await fewerFaults(
      () => best.faults,
      (faults) => attempt({ scenario: best.scenario, faults }),
    );
    for (const simpler of SIMPLER) {
      const options = simpler(best.scenario);
      if (JSON.stringify(options) !== JSON.stringify(best.scenario))
        await attempt({ scenario: options, faults: best.faults });
    }
  }
  const result = await run(best.scenario, { plan: best.faults, trace: true });
  return { ...best, result };
}

/** Removes halves first, then quarters, … then single items. */
async function fewerFaults(
  faults: () => readonly InjectedFault[],
  attempt: (fewer: readonly InjectedFault[]) => Promise<boolean>,
): Promise<void> {
  for (let size = Math.ceil(faults().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < faults().length;) {
      const fewer = faults().filter((_, index) => index < start || index >= start + size);
      if (!(await attempt(fewer))) start += size;
    }
  }
}
