import { setTimeout as delay } from 'node:timers/promises';
import {
  blockedToPod,
  eventCount,
  lockWindow,
  requestCount,
  runCycle,
  timeRaised,
  type Cycle,
  type Timestamps,
} from './cycle.ts';
import { startBaseline } from './baseline.ts';
import { blockedTenant, addHeadroom, setUpTenants, toZero, type Environment } from './environment.ts';
import { quantile, ratios, type Figure, type Measurements, type MeasureOptions } from './figures.ts';
import { functionPids, residentMiB } from './processes.ts';
import { detailsOf } from './profile.ts';
import type { ApiRequest } from './requests.ts';

const TENANT = { baseline: 'bench-baseline', blocked: 'bench-release', ample: 'bench-roomy' };
/** The guard starts functions once in this time (webhook/watchdog/cluster-watch.ts), also those that `toZero` has ended; and a bit. */
const PREWARMED_MS = 5_500;
/** Rounds that do not count: caches fill, V8 compiles. */
export const WARM_UP = 2;

/** A round of three cycles, which alternate so that a slow minute of the machine affects all of them. */
interface Round {
  readonly baseline: Cycle;
  readonly blocked: Cycle;
  readonly ample: Cycle;
}

/** Measures cycles with warm functions beside the baseline's and one that no quota blocks; then cycles from zero. */
export async function measureCycles(
  environment: Environment,
  { cycles, onProgress }: MeasureOptions,
): Promise<Measurements> {
  onProgress('making three namespaces with a VM each');
  await setUpTenants(
    environment,
    Object.values(TENANT).map((namespace) => blockedTenant(namespace)),
  );
  await addHeadroom(environment, [TENANT.ample]);
  const stopBaseline = await baselineOf(environment);
  const rounds: Round[] = [];
  for (let index = 1 - WARM_UP; index <= cycles; index += 1) {
    if (index > 0) onProgress(`warm cycle ${index} of ${cycles}`);
    const round = {
      baseline: await runCycle(environment, TENANT.baseline),
      blocked: await runCycle(environment, TENANT.blocked),
      ample: await runCycle(environment, TENANT.ample),
    };
    if (index > 0) rounds.push(round);
  }
  await stopBaseline();
  const resident = functionPids(environment.cluster).map(residentMiB);

  const cold: Cycle[] = [];
  for (let index = 1; index <= cycles; index += 1) {
    onProgress(`cold cycle ${index} of ${cycles}`);
    await toZero(environment);
    await delay(PREWARMED_MS);
    cold.push(await runCycle(environment, TENANT.blocked));
  }
  const warm = rounds.map(({ blocked }) => blocked);
  const baseline = rounds.map((round) => round.baseline);
  const ample = rounds.map((round) => round.ample);
  return {
    figures: [
      ...warmFigures(warm, baseline),
      ...coldFigures(cold, warm),
      ...requestFigures(warm, ample),
      ...processFigures(warm, resident),
    ],
    details: [...detailsOf('a warm cycle', warm), ...detailsOf('a cycle from zero', cold)],
  };
}

/** The Broker loses every event about the baseline's namespace, so that no function works there. */
async function baselineOf({ cluster, watching }: Environment): Promise<() => Promise<void>> {
  const { eventing, controlPlane } = cluster;
  eventing.broker.lose(({ event: { attributes } }) =>
    [attributes['namespace'], attributes['subject']].includes(TENANT.baseline),
  );
  const [quota] = watching.all('ResourceQuota', TENANT.baseline);
  if (quota === undefined) throw new Error(`there is no quota in ${TENANT.baseline}`);
  const raised = { ...quota.spec.hard, 'requests.cpu': '10', 'requests.memory': '10Gi' };
  return startBaseline(controlPlane.adminKubeconfig, quota, raised);
}

const BASELINE = 'baseline: two PATCHes on two watches, no lock, no record';

function warmFigures(warm: readonly Cycle[], baseline: readonly Cycle[]): Figure[] {
  const group = 'one cycle, warm';
  const unit = baseline.map(blockedToPod);
  const [toPod, window] = [warm.map(blockedToPod), warm.map(lockWindow)];
  const inUnits = { group, name: 'the same, in baselines', unit: '×' } as const;
  return [
    { group: BASELINE, name: 'blocked → target pod', unit: 'ms', samples: unit },
    { group, name: 'blocked → target pod', unit: 'ms', samples: toPod, target: 110 },
    { ...inUnits, samples: ratios(toPod, unit), target: 3 },
    { group, name: 'lock window', unit: 'ms', samples: window, target: 100 },
    { group, name: 'time raised', unit: 'ms', samples: warm.map(timeRaised), target: 50 },
  ];
}

/** A cycle from zero: every function starts at once, so it takes one cold start more than a warm one, and locks for as long. */
function coldFigures(cold: readonly Cycle[], warm: readonly Cycle[]): Figure[] {
  const group = 'one cycle, all functions start from zero at once';
  const [toPod, window] = [cold.map(blockedToPod), cold.map(lockWindow)];
  const usual = { toPod: quantile(warm.map(blockedToPod), 0.5), window: quantile(warm.map(lockWindow), 0.5) };
  const longest = cold.map(({ startsMs }) => Math.max(...startsMs));
  const more = toPod.map((ms) => ms - usual.toPod);
  const inWindows = window.map((ms) => ms / usual.window);
  return [
    { group, name: 'blocked → target pod', unit: 'ms', samples: toPod, target: 500 },
    {
      group,
      name: 'less a warm cycle, in its longest start',
      unit: '×',
      samples: ratios(more, longest),
      target: 1.3,
    },
    { group, name: 'lock window', unit: 'ms', samples: window },
    { group, name: 'the same, in warm windows', unit: '×', samples: inWindows, target: 2 },
    { group, name: 'functions started', unit: 'times', samples: cold.map(({ startsMs }) => startsMs.length) },
  ];
}

function requestFigures(warm: readonly Cycle[], ample: readonly Cycle[]): Figure[] {
  const shared = { group: 'API requests of functions and guard (audit log)', unit: 'requests' } as const;
  const requests = ample.map(requestCount);
  const runs = ample.map((cycle) => cycle.runs.length);
  return [
    {
      ...shared,
      name: 'one cycle: blocked → unlocked, without Events',
      samples: warm.map((cycle) => cycle.requests.filter(isInside(cycle.timestamps)).length),
      target: 20,
    },
    { ...shared, name: 'one cycle: everything', samples: warm.map(requestCount), target: 23 },
    { ...shared, name: 'one cycle: Events', samples: warm.map(eventCount) },
    { ...shared, name: 'one migration that is not blocked', samples: requests, target: 2 },
    {
      ...shared,
      name: 'the same, for each run of a function',
      unit: '×',
      samples: ratios(requests, runs),
      target: 0,
    },
  ];
}

function processFigures(warm: readonly Cycle[], resident: readonly number[]): Figure[] {
  const group = 'what the processes take';
  return [
    {
      group,
      name: 'CPU of functions and guard, one cycle',
      unit: 'ms',
      samples: warm.map((cycle) => cycle.cpuMs),
      target: 80,
    },
    {
      group,
      name: 'resident memory of a warm function',
      unit: 'MiB',
      samples: resident,
      share: 1,
      target: 70,
    },
  ];
}

const isInside =
  ({ blocked = NaN, unlocked = NaN }: Timestamps) =>
  ({ at, isEvent }: ApiRequest): boolean =>
    at >= blocked && at <= unlocked && !isEvent;
