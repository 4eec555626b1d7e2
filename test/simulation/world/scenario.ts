import { PURPOSES, type Purpose } from '../../../functions/domain/names.ts';
import type { ClusterVmmrq, ResourceList, Vmmrq } from '../../../functions/domain/objects.ts';
import {
  EVENTS as KUBERNETES_EVENTS,
  MIGRATIONS,
  PODS,
  VMIS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { CYCLE_STEPS } from '../../../functions/runtime/settings.ts';
import { CALL_FAULTS, EVENT_FAULTS, type Fault, type Focus, type Rates } from './faults.ts';
import { Random } from '../engine/random.ts';
import type { Pacing } from '../engine/schedule.ts';

/** The parameters of one run: the seed determines all of them, and a test can set each one separately. */
export interface Scenario {
  readonly seed: number;
  /** Number of turns before the faults end. */
  readonly steps: number;
  /** Actors go in their order of arrival, and faults may come until the end of the run: to try each fault of a list. */
  readonly isOrderly: boolean;
  readonly servers: number;
  /** Each API server publishes its own address; otherwise all share one address. */
  readonly areListed: boolean;
  /** The functions' SETTLE_MS and LOCK_SECONDS. */
  readonly settleMs: number;
  readonly lockSeconds: number;
  /**
   * Maximal lag of an API server's cache of namespaces, milliseconds: at most SETTLE_MS where servers are
   * hidden (docs/development.md#what-the-simulation-assumes says why).
   */
  readonly lagMs: number;
  readonly guards: number;
  /** KubeVirt's limits on parallel migrations, in the cluster and from one node; left out: its defaults. */
  readonly limits?: { readonly cluster: number; readonly node: number };
  readonly vms: number;
  /** Number of migrations at the beginning; later ones come as faults. */
  readonly migrations: number;
  readonly quotas: Readonly<Record<string, ResourceList>>;
  /** Allowance and policy of each VMMRQ. */
  readonly gives: readonly Vmmrq['spec'][];
  /** The cluster-wide VMMRQ; undefined: there is none. */
  readonly givesEverywhere: ClusterVmmrq['spec'] | undefined;
  /** There is a second namespace like the first: they share KubeVirt's slots and the cluster-wide VMMRQ. */
  readonly hasNeighbour: boolean;
  /** The chance of each migration to be an evacuation. */
  readonly evacuations: number;
  /** The VMs' node is cordoned at the beginning. */
  readonly isDrained: boolean;
  /** The chance of a migration, and of a VMI, to be what virt-controller makes of an update or for the descheduler. */
  readonly otherOrigins: number;
  /** The requests of a target pod; undefined: those of its source. */
  readonly targetRequests: ResourceList | undefined;
  /** False: virt-controller's Events are lost. */
  readonly writesEvents: boolean;
  readonly tenants: number;
  /** Maximal delay of the quota controller, milliseconds; beyond 500 `lower` writes status.hard itself. */
  readonly quotaMs: number;
  /** The quotas have been raised before. */
  readonly areTried: boolean;
  /** A policy of another party refuses our raises, from the beginning to the end of the faults. */
  readonly refusesRaises: boolean;
  /** From this turn on Knative is gone, and only the guard is left. undefined: Knative stays. */
  readonly knativeGoneAt: number | undefined;
  /** Requests of the project's processes that always fail. */
  readonly broken: Broken | undefined;
  readonly pacing: Pacing;
  readonly rates: Rates;
  readonly focus: Focus | undefined;
  /** The migrations exist and are blocked when the run begins. */
  readonly isBlockedAtStart: boolean;
  /** How long things take that are at once, or by chance, in a run that only looks for a broken rule. */
  readonly durations?: Durations;
}

/** Durations as measured on a real cluster, milliseconds. */
export interface Durations {
  /** From a change, or a function's answer, to the function that hears of it. */
  readonly hopMs: number;
  /** Less than this from a change to virt-controller. */
  readonly watchMs: number;
  /** The migration itself. */
  readonly migrationMs: number;
}

const CALLS = {
  crashBefore: 0.03,
  crashAfter: 0.03,
  failBefore: 0.03,
  failAfter: 0.03,
  error: 0.02,
  slow: 0.03,
  freeze: 0.03,
};
const EVENTS = { drop: 0.15, duplicate: 0.15, late: 0.1 };
/** Chances for each turn, which takes a few milliseconds. Acts of an admin are rare, but each one occurs in some of a few runs. */
const WORLD: Rates = {
  cancelMigration: 0.004,
  newMigration: 0.006,
  failMigration: 0.003,
  editQuota: 0.006,
  putQuota: 0.006,
  replaceQuota: 0.006,
  bypassQuota: 0.003,
  deleteQuota: 0.002,
  remakeQuota: 0.006,
  createQuota: 0.006,
  editVmmrq: 0.006,
  deleteVmmrq: 0.002,
  remakeVmmrq: 0.003,
  createVmmrq: 0.003,
  editClusterVmmrq: 0.006,
  deleteClusterVmmrq: 0.002,
  cordon: 0.006,
  touchNamespace: 0.006,
  breakLock: 0.002,
  stealLabel: 0.004,
  forgeEvent: 0.01,
  jumpSecond: 0.006,
  jumpLock: 0.003,
  clockStep: 0.002,
  killGuard: 0.004,
  brokerDown: 0.003,
  sourceDown: 0.003,
  pauseQuotas: 0.004,
  recount: 0.02,
  breakWatches: 0.003,
};

/** The guard repairs only a lock that the steps have left alone for too long: that needs lost events, and time. */
const LEFT_TO_THE_GUARD: Rates = { drop: 0.4, jumpLock: 0.02 };
const GUARD_STEPS = 400;
const SLOW_STEPS = 600;

/** What one launcher needs. */
const FOR_ONE: ResourceList = { 'requests.cpu': '1', 'requests.memory': '1Gi', pods: '1' };
const LARGER_TARGET: ResourceList = { cpu: '1300m', memory: '1200Mi' };

/** The scenario of a seed: a run has a few kinds of faults, each often, or none. */
export function scenarioOf(seed: number): Scenario {
  const random = new Random(seed);
  const vms = random.between(1, 3);
  const servers = random.pick([1, 1, 2, 2, 3]);
  const areListed = servers === 1 || random.chance(0.5);
  const settleMs = servers > 1 ? 250 : 0;
  const gives = givesOf(random);
  const focus = focusOf(random);
  const isGuards = focus?.step === 'guard';
  const scenario: Scenario = {
    seed,
    steps: isGuards ? GUARD_STEPS : random.between(80, 300),
    isOrderly: false,
    servers,
    areListed,
    settleMs,
    lockSeconds: 15,
    lagMs: random.pick(lagsOf(servers, areListed, settleMs)),
    guards: random.pick([1, 1, 2]),
    vms,
    migrations: random.between(1, vms),
    quotas: quotasOf(random, vms),
    gives,
    ...purposesOf(random),
    otherOrigins: 0,
    hasNeighbour: false,
    targetRequests: random.chance(0.15) ? LARGER_TARGET : undefined,
    writesEvents: random.chance(0.5),
    tenants: random.pick([0, 1, 1, 1, 2]),
    quotaMs: random.pick([20, 20, 200, 1_500]),
    areTried: false,
    refusesRaises: false,
    knativeGoneAt: random.chance(0.12) ? random.between(5, 150) : undefined,
    broken: random.chance(0.12) ? brokenOf(random) : undefined,
    pacing: {
      suspendRate: random.pick([0.2, 0.5, 0.8]),
      longDelayRate: random.pick([0, 0, 0.01, 0.05]),
      maxDelayMs: random.pick([300, 3_000, 12_000]),
    },
    rates: { ...ratesOf(random), ...(isGuards ? LEFT_TO_THE_GUARD : {}) },
    focus,
    isBlockedAtStart: random.chance(0.7),
  };
  return withStops(withRefusals(specialOf(scenario, random)));
}

/** KubeVirt stops in some runs. By a stream of its own: what a seed was before stays. */
function withStops(scenario: Scenario): Scenario {
  const random = new Random(scenario.seed + 0.125 * 2 ** 32);
  if (random.chance(0.8)) return scenario;
  return { ...scenario, rates: { ...scenario.rates, stopKubeVirt: random.pick([0.01, 0.03]) } };
}

/** What would be too rare by chance. */
function specialOf(scenario: Scenario, random: Random): Scenario {
  if (random.chance(0.25)) return withNeighbour(scenario, random);
  if (random.chance(0.05)) return withEditsDuringLock(scenario, random);
  return random.chance(0.05) ? withTwoPurposes(scenario) : withOtherOrigins(scenario);
}

/** Another party's policy comes and goes. By a stream of its own: what a seed was before stays. */
function withRefusals(scenario: Scenario): Scenario {
  const random = new Random(scenario.seed + 0.625 * 2 ** 32);
  const areTried = random.chance(0.7);
  if (random.chance(0.9)) return { ...scenario, areTried };
  const rates = { ...scenario.rates, refuseRaises: random.pick([0.005, 0.02]) };
  return { ...scenario, areTried, refusesRaises: random.chance(0.5), rates };
}

/** Of updates and of the descheduler; and tenants copy their marks. By a stream of its own: what a seed was before stays. */
function withOtherOrigins(scenario: Scenario): Scenario {
  const random = new Random(scenario.seed + 0.5 * 2 ** 32);
  if (random.chance(0.65)) return scenario;
  const purposes = random.pick<readonly Purpose[]>([
    [],
    ...PURPOSES.map((purpose) => [purpose]),
    ['Evacuation', 'LiveUpdate'],
  ]);
  const { purposes: _, ...spec } = scenario.givesEverywhere ?? EVERYWHERE;
  const isScarce = random.chance(0.7);
  return {
    ...scenario,
    otherOrigins: random.pick([0.4, 0.7, 1]),
    gives: isScarce ? [{ additionalMigrationResources: { 'requests.cpu': '1m' } }] : scenario.gives,
    givesEverywhere: { ...spec, ...(purposes.length === 0 ? {} : { purposes: [...purposes] }) },
    rates: { ...scenario.rates, copyMarks: 0.01, changeVm: 0.006, outdate: 0.006 },
  };
}

const EVERYWHERE: ClusterVmmrq['spec'] = {
  namespaceSelector: {},
  additionalMigrationResources: FOR_ONE,
  raisePolicy: 'Exact',
};

/** Two migrations, of which a cluster-wide VMMRQ gives to one; the namespace's own one is enough for both. */
const withTwoPurposes = (scenario: Scenario): Scenario => ({
  ...scenario,
  vms: 2,
  migrations: 2,
  quotas: { quota: { 'requests.cpu': '2150m', 'requests.memory': '2112Mi', pods: '2' } },
  gives: [{ additionalMigrationResources: { 'requests.cpu': '3', 'requests.memory': '3Gi', pods: '3' } }],
  givesEverywhere: {
    namespaceSelector: {},
    additionalMigrationResources: FOR_ONE,
    raisePolicy: 'Fixed',
    purposes: ['Evacuation'],
  },
  evacuations: 0.5,
  isDrained: true,
  isBlockedAtStart: true,
  knativeGoneAt: undefined,
  broken: undefined,
});

/** An admin edits whom a cluster-wide VMMRQ gives to, while `lock` is suspended between its reads and its write. */
const withEditsDuringLock = (scenario: Scenario, random: Random): Scenario => ({
  ...scenario,
  gives: [{ additionalMigrationResources: { 'requests.cpu': '1m' } }],
  givesEverywhere: {
    namespaceSelector: {},
    additionalMigrationResources: FOR_ONE,
    raisePolicy: random.pick(['Exact', 'Fixed']),
    purposes: ['UserRequested'],
  },
  evacuations: 0,
  knativeGoneAt: undefined,
  broken: undefined,
  focus: { step: 'lock', fault: 'freeze', rate: 0.3 },
  rates: { editClusterVmmrq: 0.05 },
  isBlockedAtStart: true,
});

/** Two namespaces need one cluster-wide VMMRQ: their own VMMRQs are too small. */
function withNeighbour(scenario: Scenario, random: Random): Scenario {
  const own = random.pick(['1m', '1m', '300m']);
  return {
    ...scenario,
    gives: [{ additionalMigrationResources: { 'requests.cpu': own } }],
    givesEverywhere: {
      namespaceSelector: {},
      additionalMigrationResources: FOR_ONE,
      raisePolicy: random.pick(['Exact', 'Exact', 'Fixed']),
      purposes: ['Evacuation', 'UserRequested'],
    },
    hasNeighbour: true,
    ...(random.chance(0.5) ? slowRaises(scenario, random) : {}),
  };
}

/** Raises without effect, which last until the end of a short lock: so both namespaces often have one at the same time. */
const slowRaises = ({ rates }: Scenario, random: Random): Partial<Scenario> => ({
  steps: SLOW_STEPS,
  lockSeconds: 5,
  isBlockedAtStart: true,
  knativeGoneAt: undefined,
  broken: undefined,
  targetRequests: random.chance(0.7) ? LARGER_TARGET : undefined,
  rates: { ...(random.chance(0.5) ? rates : {}), ...OF_NEIGHBOURS },
});

const OF_NEIGHBOURS: Rates = {
  remakeClusterVmmrq: 0.001,
  lookAgain: 0.02,
  forgeEvent: 0.01,
  jumpSecond: 0.004,
  jumpLock: 0.003,
  // With them it soon gives nothing.
  editClusterVmmrq: 0,
  deleteClusterVmmrq: 0,
};

function lagsOf(servers: number, areListed: boolean, settleMs: number): readonly number[] {
  if (servers === 1) return [2, 5, 12, 900];
  return areListed ? [settleMs, settleMs, 900, 8_000] : [settleMs];
}

/** Requests that the API server refuses from one turn on, until the end of the run. */
export interface Broken {
  readonly kinds: readonly string[];
  /** Left out: every verb. */
  readonly verbs?: readonly string[];
  /** HTTP status. */
  readonly code: number;
  /** Turn. */
  readonly at: number;
}

const LISTS = ['LIST', 'WATCH'] as const;

/** A missing CRD, a half-applied role, a list that is too large for the API server. */
function brokenOf(random: Random): Broken {
  const kubevirt = [MIGRATIONS.kind, VMIS.kind];
  const at = random.between(0, 120);
  const gone = { code: 404, at };
  const list = { verbs: LISTS, code: random.pick([403, 500]), at };
  return random.pick<Broken>([
    { ...gone, kinds: kubevirt },
    { ...gone, kinds: [VMMRQS.kind] },
    { ...gone, kinds: [...kubevirt, VMMRQS.kind] },
    { ...list, kinds: [MIGRATIONS.kind] },
    { ...list, kinds: [VMMRQS.kind] },
    { ...list, kinds: [PODS.kind] },
    { ...list, kinds: [KUBERNETES_EVENTS.kind, VMIS.kind] },
  ]);
}

function quotasOf(random: Random, vms: number): Record<string, ResourceList> {
  const cpu = `${String(vms * 1_000 + random.pick([0, 150, 400, 400]))}m`;
  const memory = `${String(vms * 1_024 + random.pick([64, 512, 900]))}Mi`;
  const both = { 'requests.cpu': cpu, 'requests.memory': memory };
  const pods = { pods: String(vms + random.pick([0, 2, 20, 20])) };
  switch (random.below(4)) {
    case 0:
      return { quota: both, second: pods };
    case 1:
      return { quota: { 'requests.cpu': cpu, ...pods }, second: { memory } };
    default:
      return { quota: { ...both, ...pods } };
  }
}

/** In a third of the runs it matters what a migration is for. */
function purposesOf(random: Random): Pick<Scenario, 'givesEverywhere' | 'evacuations' | 'isDrained'> {
  const purposes = random.pick<string[]>([[], [], ['Evacuation'], ['UserRequested']]);
  const spec: ClusterVmmrq['spec'] = {
    namespaceSelector: random.chance(0.8) ? {} : { matchLabels: { touched: '1' } },
    additionalMigrationResources: FOR_ONE,
    raisePolicy: random.pick(['Exact', 'Fixed']),
    ...(purposes.length === 0 ? {} : { purposes }),
  };
  return {
    givesEverywhere: random.chance(0.35) ? spec : undefined,
    evacuations: random.pick([0, 0.5, 1]),
    isDrained: random.chance(0.5),
  };
}

/** The amounts. Most runs use only policy Fixed; in the others each VMMRQ has its own policy, or a part of the quotas' amounts. */
function givesOf(random: Random): Vmmrq['spec'][] {
  const lists = amountsOf(random);
  if (random.chance(0.4))
    return lists.map((additionalMigrationResources) => ({ additionalMigrationResources }));
  return lists.map((additionalMigrationResources) => ({
    ...(random.chance(0.9) ? { additionalMigrationResources } : {}),
    ...(random.chance(0.2) ? { additionalMigrationPercentage: random.pick(['10%', '50%', '100%']) } : {}),
    raisePolicy: random.pick(['Exact', 'Exact', 'Fixed'] as const),
  }));
}

function amountsOf(random: Random): ResourceList[] {
  switch (random.below(8)) {
    case 0:
      return [{ 'requests.cpu': '2', 'requests.memory': '2Gi', pods: '2' }];
    case 1:
      return [FOR_ONE, { cpu: '500m', memory: '500Mi' }];
    case 2:
      return [{ 'requests.cpu': '600m' }];
    case 3:
      return random.chance(0.5) ? [] : [{ 'requests.cpu': '3', 'requests.memory': '3Gi', pods: '3' }];
    default:
      return [FOR_ONE];
  }
}

/** Some kinds of faults; none in one of eight runs. */
function ratesOf(random: Random): Rates {
  if (random.chance(0.125)) return {};
  const rates: Partial<Record<Fault, number>> = {};
  const strength = random.pick([0.5, 1, 2]);
  const share = random.pick([0.15, 0.3, 0.6]);
  for (const [fault, rate] of Object.entries({ ...CALLS, ...EVENTS, ...WORLD }) as [Fault, number][]) {
    if (random.chance(share)) rates[fault] = rate * strength;
  }
  return rates;
}

function focusOf(random: Random): Focus | undefined {
  if (random.chance(0.6)) return undefined;
  // Steps late in the cycle, and rare steps, already get few faults.
  const step = random.pick([...CYCLE_STEPS, 'raise', 'unlock', 'unlock', 'unlock', 'guard', 'guard']);
  const fault = random.chance(0.4) ? 'freeze' : random.pick([...CALL_FAULTS, ...EVENT_FAULTS]);
  return { step, fault, rate: random.pick([0.1, 0.3]) };
}
