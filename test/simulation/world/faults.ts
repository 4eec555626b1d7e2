import { Random } from '../engine/random.ts';

/** All faults that a run may inject, one sentence each. */
export const FAULTS = {
  crashBefore: 'the process dies before the request is sent',
  crashAfter: 'the process dies before it reads the answer',
  failBefore: 'the request is lost on its way',
  failAfter: 'the answer is lost on its way, after the request has taken effect',
  error: 'the API server answers 500, and does nothing',
  slow: 'the request hangs for seconds on its way, and then arrives',
  freeze: 'the process is suspended for seconds after the answer, and then continues',
  broken: 'a request fails for good: its kind is gone, or its list is refused',
  drop: 'an event is lost',
  duplicate: 'an event comes twice',
  late: 'an event comes seconds later',
  cancelMigration: 'a migration is deleted',
  newMigration: 'a migration is created',
  failMigration: 'a migration fails on its way',
  editQuota: 'an admin changes a quota',
  putQuota: 'an admin puts a quota as it was read a while ago, with a change',
  replaceQuota: 'an admin replaces a quota by its manifest, without labels and annotations',
  bypassQuota: 'an admin changes a quota past the guard, as while its webhooks are removed for a moment',
  deleteQuota: 'an admin deletes a quota',
  remakeQuota: 'an admin deletes a quota and creates it again at once',
  createQuota: 'an admin creates a quota, again where it was deleted',
  editVmmrq: 'an admin changes the allowance of a VMMRQ',
  deleteVmmrq: 'an admin deletes a VMMRQ',
  remakeVmmrq: 'an admin deletes a VMMRQ and creates it again, with the same or another amount',
  createVmmrq: 'an admin creates another VMMRQ',
  editClusterVmmrq: 'an admin edits the amounts, purposes and selector of the cluster-wide VMMRQ',
  deleteClusterVmmrq: 'an admin deletes the cluster-wide VMMRQ',
  remakeClusterVmmrq: 'an admin deletes the cluster-wide VMMRQ and creates it again at once',
  lookAgain: 'a client in the cluster asks for a look at a namespace, or for its unlock',
  cordon: "an admin cordons or uncordons the VMs' node",
  touchNamespace: 'an admin labels the namespace',
  breakLock: 'an admin removes the lock by break-glass',
  stealLabel: 'the tenant removes the label of the lock',
  forgeEvent: 'a client in the cluster posts one of the project’s events',
  jumpSecond: 'nothing moves for a second',
  jumpLock: 'nothing moves for longer than a lock may live',
  clockStep: 'the API servers’ clock is set forward',
  killGuard: 'the guard dies and is back a while later',
  brokerDown: 'the Broker is away for a while, and events sent meanwhile are lost',
  sourceDown: 'the adapter of the source is away for a while',
  stopKubeVirt: 'KubeVirt stops for a while, and what it has requested goes on',
  pauseQuotas: 'the quota controller stops: for a while, until the faults end, or for good',
  refuseRaises: 'another party installs a policy that refuses our raises, or removes it',
  recount: 'the quota controller counts every quota again',
  breakWatches: 'an API server ends every watch',
  copyMarks: 'a tenant gives a migration of its own, or a VM, the marks of KubeVirt’s',
  changeVm: 'a change of a running VM begins to wait for a migration, or ends',
  outdate: 'a VM’s launcher becomes outdated, or current',
} as const;
export type Fault = keyof typeof FAULTS;

export const CALL_FAULTS = [
  'crashBefore',
  'crashAfter',
  'failBefore',
  'failAfter',
  'error',
  'slow',
  'freeze',
] as const;
export const EVENT_FAULTS = ['drop', 'duplicate', 'late'] as const;

/** One fault at the n-th opportunity of one site. */
export interface InjectedFault<F extends Fault = Fault> {
  /** "raise#4", "event to lock#2", "world#131". */
  readonly at: string;
  readonly fault: F;
}

export type Rates = Readonly<Partial<Record<Fault, number>>>;

/** One fault that one site gets far more often than other sites. */
export interface Focus {
  /** "raise": its calls, and the events to it. */
  readonly step: string;
  readonly fault: Fault;
  readonly rate: number;
}

export interface FaultsOptions {
  readonly seed: number;
  readonly rates: Rates;
  readonly focus?: Focus | undefined;
  /** Exactly these faults; left out: by chance. */
  readonly plan?: readonly InjectedFault[] | undefined;
}

/** Decides whether to inject the next fault: by chance, or by an exact plan. */
export class Faults {
  /** The injected faults in order: the same list as a plan gives the same run. */
  readonly happened: InjectedFault[] = [];
  /** How often each fault hit each site. */
  readonly hits = new Map<string, number>();
  /** The sites of all opportunities, in order. */
  readonly chances: { readonly at: string; readonly among: readonly Fault[] }[] = [];
  /** No more faults from now on. */
  isOver = false;
  readonly #rates: Rates;
  readonly #focus: Focus | undefined;
  readonly #plan: ReadonlyMap<string, Fault> | undefined;
  readonly #random: Random;
  readonly #counts = new Map<string, number>();
  readonly #seed: number;

  constructor({ seed, rates, focus, plan }: FaultsOptions) {
    this.#seed = seed;
    this.#random = new Random(seed);
    this.#rates = rates;
    this.#focus = focus;
    this.#plan = plan === undefined ? undefined : new Map(plan.map(({ at, fault }) => [at, fault]));
  }

  /** The fault to inject here, at most one of `among`; undefined: none. */
  inject<F extends Fault>(site: string, among: readonly F[]): InjectedFault<F> | undefined {
    if (this.isOver) return undefined;
    const count = (this.#counts.get(site) ?? 0) + 1;
    this.#counts.set(site, count);
    const at = `${site}#${String(count)}`;
    const fault = this.#plan === undefined ? this.#draw(site, among) : this.#planned(at, among);
    if (fault === undefined) return undefined;
    this.happened.push({ at, fault });
    this.count(fault, site);
    return { at, fault };
  }

  /** Counts a hit. `broken` is part of the scenario, so it is counted only, and no plan has it. */
  count(fault: Fault, site: string): void {
    const hit = `${fault} ${site}`;
    this.hits.set(hit, (this.hits.get(hit) ?? 0) + 1);
  }

  /** Randomness for the details of one fault: they do not depend on the rest of the run. */
  particulars({ at }: InjectedFault): Random {
    let mixed = this.#seed | 0;
    for (let index = 0; index < at.length; index += 1) {
      mixed = Math.imul(mixed ^ at.charCodeAt(index), 0x01000193);
    }
    return new Random(mixed);
  }

  #planned<F extends Fault>(at: string, among: readonly F[]): F | undefined {
    this.chances.push({ at, among });
    const fault = this.#plan?.get(at);
    return among.find((one) => one === fault);
  }

  #draw<F extends Fault>(site: string, among: readonly F[]): F | undefined {
    let drawn = this.#random.next();
    const focus = this.#focus !== undefined && isAbout(site, this.#focus.step) ? this.#focus : undefined;
    const all = among.reduce((sum, fault) => sum + (this.#rates[fault] ?? 0), 0);
    // Capped, so that the last fault of the list still happens.
    const times = Math.min(SELDOM.get(site) ?? 1, MAX_SITE_RATE / all);
    for (const fault of among) {
      drawn -= fault === focus?.fault ? focus.rate : times * (this.#rates[fault] ?? 0);
      if (drawn < 0) return fault;
    }
    return undefined;
  }
}

/** Factors for sites with few opportunities before the faults end. */
const SELDOM: ReadonlyMap<string, number> = new Map([
  ['lock', 3],
  ['unlock', 5],
  ['guard', 10],
]);
const MAX_SITE_RATE = 0.8;

const isAbout = (site: string, step: string): boolean =>
  site === step || site === `${step} reads` || site === `event to ${step}`;
