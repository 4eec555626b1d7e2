import { Random } from '../../engine/random.ts';
import { Calls } from './calls.ts';
import { brokenAtLast, brokenNow, type Checked } from '../checker.ts';
import { startClusters, type Clusters } from './clusters.ts';
import { Crashes } from './crashes.ts';
import { calm, DISTURBANCES, USERS } from './disturbances.ts';
import { Hooks } from './hooks.ts';
import { Hub } from './hub.ts';
import { HubUsers } from './hub-users.ts';
import { FailingCopies } from './failing-copies.ts';
import { PostCopy } from './post-copy.ts';
import { OWNER, Seldom } from './seldom.ts';
import { Servers } from './servers.ts';
import { SlowNodes } from './slow-nodes.ts';
import { Truth } from './truth.ts';

interface RunResult {
  readonly seed: number;
  /** The broken rule, and how; undefined: none. */
  readonly violation: string | undefined;
  readonly hasMoved: boolean;
  /** How often each disturbance and crash happened, and how the run ended. */
  readonly hits: ReadonlyMap<string, number>;
  readonly trace: readonly string[];
}

/** Turns while there are faults: several times what a run without any takes. */
const STEPS = 900;
const MAX_ROUNDS = 300;
/** Longer than every deadline. */
const LONG_MS = 30 * 3_600_000;
const QUIET_ROUNDS = 3;

/** One run of one seed. */
export async function runSeed(seed: number): Promise<RunResult> {
  const random = new Random(seed);
  return new Run(seed, random, await startClusters(random)).result();
}

class Run {
  readonly #seed: number;
  readonly #random: Random;
  readonly #clusters: Clusters;
  readonly #truth: Truth;
  readonly #hooks: Hooks;
  readonly #hub: Hub;
  readonly #seldom: Seldom;
  readonly #crashes: Crashes;
  readonly #servers: Servers;
  readonly #hubUsers: HubUsers;
  readonly #calls: Calls;
  readonly #halts: number[] = [];
  readonly #starts: number[] = [];
  readonly #hits = new Map<string, number>();
  readonly #trace: string[] = [];
  readonly #rates: { readonly fault: number; readonly user: number; readonly call: number };
  #lastOnTarget = 0;
  #violation: string | undefined;
  #isTouched = false;
  /** No user has touched anything. */
  #isAsBegun = true;

  constructor(seed: number, random: Random, clusters: Clusters) {
    this.#seed = seed;
    this.#random = random;
    this.#clusters = clusters;
    this.#truth = new Truth(clusters);
    this.#hooks = new Hooks({ seed, clusters, onHit: (what) => this.#happens(what) });
    // Some plans let the VM migrate once more within the target.
    const settings = seed % 8 < 4 ? { localMigration: 'true' } : {};
    this.#hub = new Hub(clusters, this.#hooks.steps, settings);
    this.#hooks.watch(this.#hub);
    const seldom = { seed, clusters, hub: this.#hub, onHit: (what: string) => this.#happens(what) };
    this.#seldom = new Seldom(seldom);
    this.#servers = new Servers(seldom);
    this.#hubUsers = new HubUsers(seldom);
    new PostCopy({ ...seldom, truth: this.#truth }).watch();
    new SlowNodes({ ...seldom, truth: this.#truth }).watch();
    new FailingCopies(seldom).watch();
    this.#crashes = new Crashes(seldom);
    this.#crashes.watch();
    this.#rates = {
      fault: random.pick([0, 0.002, 0.005, 0.01]),
      user: random.pick([0, 0, 0, 0.002, 0.005]),
      call: random.pick([0.05, 0.15, 0.4]),
    };
    this.#calls = new Calls({
      ...{ clusters, hub: this.#hub, servers: this.#servers, random, halts: this.#halts },
      checked: () => this.#checked,
      stall: () => this.#seldom.stall(),
      onHit: (hit) => this.#hit(hit),
      onNote: (line) => this.#note(line),
      onViolation: (violation) => this.#fail(violation),
    });
  }

  async result(): Promise<RunResult> {
    for (let step = 0; step < STEPS && !this.#isOver; step += 1) {
      this.#seldom.step(step);
      this.#servers.step(step);
      this.#hubUsers.step(step);
      await this.#step();
    }
    await this.#settle();
    this.#hit(`end ${this.#calls.outcome}`);
    const { hasMoved } = this.#truth;
    return { seed: this.#seed, violation: this.#violation, hasMoved, hits: this.#hits, trace: this.#trace };
  }

  get #isOver(): boolean {
    return this.#violation !== undefined || (this.#hub.isReleased && this.#calls.underWay === 0);
  }

  async #step(): Promise<void> {
    const random = this.#random;
    if (random.chance(this.#rates.fault)) this.#disturb(DISTURBANCES);
    else if (random.chance(this.#rates.user) && this.#disturb(USERS)) this.#touched();
    const { underWay } = this.#calls;
    if (underWay < 2 && random.chance(underWay === 0 ? this.#rates.call : 0.01)) void this.#calls.one();
    await this.#pass();
  }

  #touched(): void {
    this.#isTouched = true;
    this.#halts.length = 0;
    this.#starts.length = 0;
    this.#isAsBegun = false;
  }

  async #pass(): Promise<void> {
    const { schedule } = this.#clusters.pair;
    this.#noteTarget();
    this.#fail(brokenNow(this.#checked));
    if (!(await schedule.step()) && !(await schedule.skip(schedule.time.now + 500)))
      await schedule.advance(50);
  }

  #noteTarget(): void {
    if (this.#truth.runs('target')) this.#lastOnTarget = this.#clusters.now;
  }

  #disturb(from: typeof DISTURBANCES): boolean {
    const random = this.#random;
    const [name, disturb] = random.pick(Object.entries(from));
    if (!disturb({ clusters: this.#clusters, hub: this.#hub, random })) return false;
    this.#hit(name);
    this.#note(`! ${name}`);
    return true;
  }

  /** By an owner of the VM, or of the namespace. */
  #happens(what: string): void {
    if (what === OWNER) {
      this.#isTouched = true;
      // Where a user has removed the record, nothing tells of it before the run has halted the VM itself.
      if (this.#isAsBegun || this.#halts.length > 0) this.#starts.push(this.#clusters.now);
    }
    this.#hit(what);
    this.#note(`! ${what}`);
  }

  get #checked(): Checked {
    const { end } = this.#hub;
    this.#noteTarget();
    return {
      clusters: this.#clusters,
      truth: this.#truth,
      hooks: this.#hooks,
      isTouched: this.#isTouched,
      isGivenUp: this.#hub.isGivenUp,
      hasEnded: end !== undefined && end.leftovers.length === 0,
      halts: this.#halts,
      starts: this.#starts,
      lastOnTarget: this.#lastOnTarget,
      isLate: (object) => this.#calls.isLate(object),
    };
  }

  /** The faults end. It must become quiet, and then be as it shall be. */
  async #settle(): Promise<void> {
    this.#seldom.calm();
    this.#servers.calm();
    this.#crashes.calm();
    await calm({ clusters: this.#clusters, hub: this.#hub, random: this.#random });
    this.#calls.isCalm = true;
    let [quiet, idle] = [0, 0];
    for (
      let round = 0;
      round < MAX_ROUNDS && quiet < QUIET_ROUNDS && this.#violation === undefined;
      round += 1
    ) {
      await this.#passFor(idle > 3 ? LONG_MS : 3_000);
      const before = this.#revisions();
      await this.#callAlone();
      idle = this.#revisions() === before ? idle + 1 : 0;
      quiet = idle > 4 ? quiet + 1 : 0;
    }
    if (quiet < QUIET_ROUNDS) this.#fail('L4: it does not become quiet');
    else this.#fail(brokenAtLast(this.#checked, this.#hub, this.#calls.said));
  }

  async #passFor(ms: number): Promise<void> {
    const { schedule } = this.#clusters.pair;
    const until = schedule.time.now + ms;
    while (schedule.time.now < until && ((await schedule.step()) || (await schedule.skip(until))));
    await schedule.advance(Math.max(0, until - schedule.time.now));
  }

  async #callAlone(): Promise<void> {
    const progress = { isOver: false };
    const call = this.#calls.one().finally(() => {
      progress.isOver = true;
    });
    while (!progress.isOver) await this.#pass();
    await call;
  }

  #revisions(): string {
    const { source, target } = this.#clusters.pair.stores;
    return [source, target, this.#hub.store].map(({ revision }) => String(revision)).join(' ');
  }

  #fail(violation: string | undefined): void {
    this.#violation ??= violation;
    if (violation !== undefined) this.#note(`VIOLATION ${violation}`);
  }

  #hit(name: string): void {
    this.#hits.set(name, (this.#hits.get(name) ?? 0) + 1);
  }

  #note(line: string): void {
    const { hasMoved } = this.#truth;
    const where = (['source', 'target'] as const)
      .map((side) => (this.#truth.runs(side) ? side[0] : '-'))
      .join('');
    this.#trace.push(
      `${new Date(this.#clusters.now).toISOString().slice(5, 23)} ${where}${hasMoved ? '>' : ' '} ${line}`,
    );
  }
}
