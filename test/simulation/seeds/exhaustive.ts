import type { InjectedFault } from '../world/faults.ts';
import { run, type RunResult } from '../world/run.ts';
import type { Scenario } from '../world/scenario.ts';

/** One namespace, one quota, one API server, no other clients: `migrations` blocked migrations, each gets its cycle. */
export const smallCase = (migrations: number): Scenario => ({
  seed: 1,
  steps: 2_000,
  isOrderly: true,
  servers: 1,
  areListed: true,
  broken: undefined,
  settleMs: 0,
  lockSeconds: 15,
  lagMs: 5,
  guards: 1,
  vms: migrations,
  migrations,
  quotas: { quota: { 'requests.cpu': `${String(migrations * 1_000 + 400)}m`, pods: '20' } },
  givesEverywhere: undefined,
  hasNeighbour: false,
  evacuations: 0,
  isDrained: false,
  otherOrigins: 0,
  gives: [{ additionalMigrationResources: { 'requests.cpu': '1' } }],
  targetRequests: undefined,
  writesEvents: true,
  tenants: 0,
  quotaMs: 20,
  areTried: true,
  refusesRaises: false,
  knativeGoneAt: undefined,
  pacing: { suspendRate: 1, longDelayRate: 0, maxDelayMs: 0 },
  rates: {},
  focus: undefined,
  isBlockedAtStart: true,
});

export interface Tried {
  readonly runs: number;
  readonly crashPoints: number;
  readonly eventPoints: number;
  /** Plans that violated an invariant, and the invariant. */
  readonly violations: readonly { readonly plan: readonly InjectedFault[]; readonly violation: string }[];
}

/**
 * Every crash point alone, and with each single event lost or doubled. The points are those of the run without faults.
 * With an event fault, only crashes after a write: a process keeps no state, so a crash before a write equals one after the previous write.
 */
export async function tryAll(scenario: Scenario): Promise<Tried> {
  const { chances } = await run(scenario, { plan: [] });
  const crashes = chances
    .filter(({ among }) => among.includes('crashBefore'))
    .flatMap(({ at }): InjectedFault[] => [
      { at, fault: 'crashBefore' },
      { at, fault: 'crashAfter' },
    ]);
  const events = chances
    .filter(({ among }) => among.includes('drop'))
    .flatMap(({ at }): InjectedFault[] => [
      { at, fault: 'drop' },
      { at, fault: 'duplicate' },
    ]);
  const plans = [[], ...crashes.map((crash) => [crash]), ...events.map((event) => [event])];
  for (const crash of crashes.filter(({ fault }) => fault === 'crashAfter'))
    for (const event of events) plans.push([crash, event]);
  const violations: Tried['violations'][number][] = [];
  for (const plan of plans) {
    const { violation }: RunResult = await run(scenario, { plan });
    if (violation !== undefined) violations.push({ plan, violation });
  }
  return { runs: plans.length, crashPoints: crashes.length, eventPoints: events.length, violations };
}
