import type { Tenant } from '../demo/scenarios.ts';
import { now } from '../demo/watching.ts';
import { blockedToPod, migrateAll, requestCount, runCycle, type Cycle } from './cycle.ts';
import {
  blockedTenant,
  idleGuardMiB,
  setUpTenants,
  startEnvironment,
  type Environment,
} from './environment.ts';
import type { Detail, Figure, Measurements, MeasureOptions } from './figures.ts';
import { storeFinishedMigrations } from './finished-migrations.ts';
import { DEFAULT_LIMITS, setLimits } from './measure-bursts.ts';
import { countsDetail, detailsOf, runCountsOf } from './profile.ts';
import { countsOf } from './requests.ts';

/** A larger burst would only measure the wait for this machine's cores. */
const MAX_AT_ONCE = 100;

/**
 * Measures a single migration among many namespaces, each with a VMMRQ and a VM; then one migration in each of them at once. First, it
 * stores `finished` migrations that have ended, also in the namespace of the single migration.
 */
export async function measureScale(
  sizes: readonly number[],
  finished: number,
  { cycles, onProgress }: MeasureOptions,
): Promise<Measurements> {
  const environment = await startEnvironment({ onProgress });
  try {
    await setLimits(environment, DEFAULT_LIMITS);
    const figures: Figure[] = [];
    const details: Detail[] = [];
    const tenants = Array.from({ length: Math.max(...sizes) }, (_, index) => blockedTenant(`bench-${index}`));
    let created = 0;
    for (const size of sizes.toSorted((one, other) => one - other)) {
      onProgress(`${size} namespaces`);
      await setUpTenants(environment, tenants.slice(created, size), onProgress);
      if (created === 0 && finished > 0) {
        const where = { namespace: nameOf(tenants), count: finished };
        await storeFinishedMigrations(where, environment, { onProgress });
      }
      created = size;
      onProgress(`${size} namespaces: ${cycles} cycles`);
      const measured = await measureSize(environment, tenants.slice(0, size), cycles);
      const group = `${size} namespaces with a VMMRQ (at most ${DEFAULT_LIMITS.perCluster} migrations at once)`;
      figures.push(...measured.figures.map((figure) => ({ group, ...figure })));
      details.push(...measured.details);
    }
    return { figures, details };
  } finally {
    await environment.stop();
  }
}

/** The results of one size, which is the figures' group. */
interface Measured {
  readonly figures: readonly Omit<Figure, 'group'>[];
  readonly details: readonly Detail[];
}

/** The namespace in which one migration runs alone. */
const nameOf = ([first]: readonly Tenant[]): string => first?.namespace ?? '';

const NOT_MEASURED: Measured = { figures: [], details: [] };

async function measureSize(
  environment: Environment,
  tenants: readonly Tenant[],
  cycles: number,
): Promise<Measured> {
  const alone: Cycle[] = [];
  for (let index = 0; index < cycles; index += 1) {
    alone.push(await runCycle(environment, nameOf(tenants)));
  }
  const inEach = tenants.length > MAX_AT_ONCE ? NOT_MEASURED : await measureOneInEach(environment, tenants);
  const memory = await idleGuardMiB(environment);
  const watches = environment.requestLog.openWatches;
  const figures = [
    { name: 'one alone: blocked → target pod', unit: 'ms', samples: alone.map(blockedToPod) },
    { name: 'one alone: requests', unit: 'requests', samples: alone.map(requestCount), target: 23 },
    ...listFigures(alone),
    ...inEach.figures,
    { name: 'resident memory of the guard, idle again', unit: 'MiB', samples: [memory] },
    { name: 'watches that are open (guard and source)', unit: 'times', samples: [watches] },
  ] as const;
  return { figures, details: [...detailsOf(`one alone of ${tenants.length}`, alone), ...inEach.details] };
}

function listFigures(alone: readonly Cycle[]): Measured['figures'] {
  const lists = alone.map(({ requests }) => requests.filter(({ listsMigrations }) => listsMigrations));
  const samples = lists.map(({ length }) => length);
  const longest = lists.flat().map(({ ms }) => ms);
  return [
    { name: 'one alone: lists of migrations', unit: 'requests', samples, target: 0 },
    ...(longest.length === 0
      ? []
      : [{ name: 'one alone: the longest of them', unit: 'ms', samples: longest, share: 1 } as const]),
  ];
}

async function measureOneInEach(environment: Environment, tenants: readonly Tenant[]): Promise<Measured> {
  const { requests } = environment.requestLog;
  const [from, began, firstRun] = [requests.length, now(), environment.traces.runs.length];
  const unlockedMs = await migrateAll(environment, tenants, (burst) => burst.unlockedMs);
  const ours = requests.slice(from).filter(({ at }) => at >= began);
  const events = ours.filter(({ isEvent }) => isEvent).length;
  const each = (total: number): number[] => [total / tenants.length];
  const details = [
    countsDetail(`requests of ${tenants.length} namespaces, one migration in each`, countsOf(ours)),
    countsDetail(
      `runs of functions for ${tenants.length} namespaces`,
      runCountsOf(environment.traces.runs.slice(firstRun)),
    ),
  ];
  const figures = [
    { name: 'one in each: until the last lock is gone', unit: 'ms', samples: [unlockedMs] },
    { name: 'one in each: requests of each', unit: 'requests', samples: each(ours.length), target: 30 },
    { name: 'one in each: Events of each', unit: 'requests', samples: each(events) },
  ] as const;
  return { figures, details };
}
