import type { LiveWrite, Wait } from '../../../functions/domain/live/decision.ts';
import type { VmStatus } from '../../../functions/domain/live/forklift.ts';
import { LIVE_KIND } from '../../../functions/domain/live/names.ts';
import { recordIn } from '../../../functions/domain/live/run-record.ts';
import type { RunSnapshot } from '../../../functions/domain/live/run-snapshot.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { decide, type Ended, type RunDecision } from '../../../functions/live/decide.ts';
import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import { Random } from '../random.ts';
import { brokenAtLast, brokenBy, brokenByEnd, haltsSource, type Checked } from './checker.ts';
import { Refused, startClusters, type Clusters } from './clusters.ts';
import { calm, DISTURBANCES, USERS } from './disturbances.ts';
import { OWNER, Seldom } from './seldom.ts';
import { newHub, readAll, type Hub } from './snapshot.ts';
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

/** The call ends here: its process is gone, or an API server did not answer. */
class Ends extends Error {}

class Run {
  readonly #seed: number;
  readonly #random: Random;
  readonly #clusters: Clusters;
  readonly #truth: Truth;
  readonly #hub: Hub;
  readonly #seldom: Seldom;
  readonly #halts: number[] = [];
  readonly #hits = new Map<string, number>();
  readonly #trace: string[] = [];
  readonly #rates: {
    readonly fault: number;
    readonly user: number;
    readonly crash: number;
    readonly call: number;
  };
  /** How far apart the requests of a call are, milliseconds. */
  readonly #lagMs: number;
  /** Calls under way: more than one, because an event may be delivered twice. */
  #calls = 0;
  #lastOnTarget = 0;
  #ended: Ended | undefined;
  #outcome = 'none';
  #violation: string | undefined;
  #isTouched = false;
  #isCalm = false;

  constructor(seed: number, random: Random, clusters: Clusters) {
    this.#seed = seed;
    this.#random = random;
    this.#clusters = clusters;
    this.#truth = new Truth(clusters);
    this.#hub = newHub(clusters);
    this.#seldom = new Seldom({ seed, clusters, hub: this.#hub, onHit: (what) => this.#happens(what) });
    this.#rates = {
      fault: random.pick([0, 0.002, 0.005, 0.01]),
      user: random.pick([0, 0, 0, 0.002, 0.005]),
      crash: random.pick([0, 0.02, 0.1]),
      call: random.pick([0.05, 0.15, 0.4]),
    };
    this.#lagMs = random.pick([1, 5, 40]);
  }

  async result(): Promise<RunResult> {
    for (let step = 0; step < STEPS && this.#violation === undefined; step += 1) {
      this.#seldom.step(step);
      await this.#step();
    }
    await this.#settle();
    this.#hit(`end ${this.#outcome}`);
    const { hasMoved } = this.#truth;
    return { seed: this.#seed, violation: this.#violation, hasMoved, hits: this.#hits, trace: this.#trace };
  }

  async #step(): Promise<void> {
    const random = this.#random;
    if (random.chance(this.#rates.fault)) this.#disturb(DISTURBANCES);
    else if (random.chance(this.#rates.user) && this.#disturb(USERS)) this.#touched();
    if (this.#calls < 2 && random.chance(this.#calls === 0 ? this.#rates.call : 0.01)) void this.#call();
    await this.#pass();
  }

  #touched(): void {
    this.#isTouched = true;
    this.#halts.length = 0;
  }

  async #pass(): Promise<void> {
    const { schedule } = this.#clusters.pair;
    if (this.#truth.runs('target')) this.#lastOnTarget = this.#clusters.now;
    if (!(await schedule.step()) && !(await schedule.skip(schedule.time.now + 500)))
      await schedule.advance(50);
  }

  #disturb(from: typeof DISTURBANCES): boolean {
    const random = this.#random;
    const [name, disturb] = random.pick(Object.entries(from));
    if (!disturb({ clusters: this.#clusters, hub: this.#hub, random })) return false;
    this.#hit(name);
    this.#note(`! ${name}`);
    return true;
  }

  /** One call of the function: it reads, decides, and writes. */
  async #call(): Promise<void> {
    this.#calls += 1;
    const since = this.#clusters.now;
    try {
      const { version } = this.#hub;
      const snapshot = await readAll(this.#clusters, this.#hub, (side) => this.#pause(side));
      const decision = decide(snapshot);
      this.#note(`  ${textOf(decision)}`);
      if (decision.kind === 'ended') await this.#end(decision);
      if (decision.kind === 'wait') await this.#show(decision);
      if (decision.kind === 'write' && (await this.#mayWrite(snapshot, version)))
        await this.#write(decision.writes, since);
    } catch (error) {
      if (error instanceof ApiError || error instanceof Refused) this.#refused(error);
      else if (!(error instanceof Ends)) this.#fail(`L4: the call throws ${String(error)}`);
    } finally {
      this.#calls -= 1;
    }
  }

  /** As move.ts: without a record only by the Migration that was read. */
  async #mayWrite(snapshot: RunSnapshot, version: number): Promise<boolean> {
    if (recordIn(snapshot) !== undefined) return true;
    await this.#pause();
    const isAsRead = this.#hub.version === version;
    if (!isAsRead) this.#hit('changed meanwhile');
    return isAsRead;
  }

  #refused({ message }: Error): void {
    this.#hit('refused');
    this.#note(`    refused: ${message}`);
  }

  /** Between two requests anything may happen, also to the process of the call. */
  async #pause(side?: Side): Promise<void> {
    const { pair, away } = this.#clusters;
    await new Promise<void>((resolve) =>
      pair.schedule.later('live', this.#random.below(this.#lagMs), resolve),
    );
    if (side !== undefined && away[side]) throw new Ends();
    if (this.#isCalm || !this.#random.chance(this.#rates.crash)) return;
    this.#hit('crash');
    this.#note('    crash');
    throw new Ends();
  }

  /** A deadline counts from here. */
  async #show({ reason }: Wait): Promise<void> {
    await this.#pause();
    const { status } = this.#hub;
    const isShown = status?.conditions?.some((each) => each.reason === reason) === true;
    if (status?.completed !== undefined || isShown) return;
    const lastTransitionTime = new Date(this.#clusters.now).toISOString();
    const condition = { type: 'Waiting', status: 'True', reason, lastTransitionTime };
    this.#hub.version += 1;
    this.#hub.status = { conditions: [condition] } as unknown as VmStatus;
  }

  async #end(ended: Ended): Promise<void> {
    this.#ended = ended;
    const isOver = ended.leftovers.length === 0;
    if (this.#hub.status?.completed === undefined)
      this.#outcome = `${ended.as} ${ended.reason}${ended.leftovers.map((one) => ` ${one.split(' ')[0] ?? ''}`).join('')}`;
    if (isOver && this.#hub.status?.completed === undefined) this.#fail(brokenByEnd(this.#checked, ended));
    const conditions = [{ type: ended.as, status: 'True' }];
    this.#hub.version += 1;
    this.#hub.status = { ...(isOver && { completed: 'now' }), conditions } as unknown as VmStatus;
    await this.#write(ended.release, this.#clusters.now);
  }

  async #write(writes: readonly LiveWrite[], readSince: number): Promise<void> {
    for (const write of writes) {
      const side = write.on === 'source' ? 'source' : 'target';
      await this.#pause();
      const { away } = this.#clusters;
      // An answer that is lost: it happened, or it did not.
      if (away[side] && this.#random.chance(0.5)) throw new Ends();
      const broken = brokenBy({ ...this.#checked, readSince }, write);
      const isHalt = haltsSource(write, this.#clusters);
      await this.#send(side, write);
      if (isHalt) this.#halts.push(this.#clusters.now);
      // Only a write that was accepted breaks anything.
      this.#fail(broken);
      if (away[side]) throw new Ends();
      await this.#pause();
    }
  }

  async #send(side: Side, write: LiveWrite): Promise<void> {
    const clusters = this.#clusters;
    if (write.verb === 'create') await clusters.create(side, write.object);
    else if (write.verb === 'replace') await clusters.replace(side, write.object, 'live');
    else await clusters.remove(side, write.object, write.asRead === true);
    this.#hit(`${write.verb} ${nameOf(write.object)} on ${side}`);
  }

  /** By an owner of the VM, or of the namespace. */
  #happens(what: string): void {
    if (what === OWNER) this.#isTouched = true;
    this.#hit(what);
    this.#note(`! ${what}`);
  }

  get #checked(): Checked {
    const hasEnded = this.#hub.status?.completed !== undefined;
    return {
      clusters: this.#clusters,
      truth: this.#truth,
      isTouched: this.#isTouched,
      hasEnded,
      halts: this.#halts,
      lastOnTarget: this.#lastOnTarget,
    };
  }

  /** The faults end. It must become quiet, and then be as it shall be. */
  async #settle(): Promise<void> {
    this.#seldom.calm();
    await calm({ clusters: this.#clusters, hub: this.#hub, random: this.#random });
    this.#isCalm = true;
    let [quiet, idle] = [0, 0];
    for (
      let round = 0;
      round < MAX_ROUNDS && quiet < QUIET_ROUNDS && this.#violation === undefined;
      round += 1
    ) {
      await this.#passFor(idle > 3 ? LONG_MS : 3_000);
      const before = this.#revisions();
      this.#ended = undefined;
      await this.#callAlone();
      idle = this.#revisions() === before ? idle + 1 : 0;
      quiet = idle > 4 ? quiet + 1 : 0;
    }
    if (quiet < QUIET_ROUNDS) this.#fail('L4: it does not become quiet');
    else this.#fail(brokenAtLast(this.#checked, this.#ended));
  }

  async #passFor(ms: number): Promise<void> {
    const { schedule } = this.#clusters.pair;
    const until = schedule.time.now + ms;
    while (schedule.time.now < until && ((await schedule.step()) || (await schedule.skip(until))));
    await schedule.advance(Math.max(0, until - schedule.time.now));
  }

  async #callAlone(): Promise<void> {
    const progress = { isOver: false };
    const call = this.#call().finally(() => {
      progress.isOver = true;
    });
    while (!progress.isOver) await this.#pass();
    await call;
  }

  #revisions(): string {
    const { source, target } = this.#clusters.pair.stores;
    return `${String(source.revision)} ${String(target.revision)}`;
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

const nameOf = ({ kind = '' }: Pick<KubernetesObject, 'kind'>): string =>
  kind === LIVE_KIND.vm.kind ? 'VM' : kind.replace('VirtualMachineInstance', 'VMI');

function textOf(decision: RunDecision): string {
  if (decision.kind === 'ended')
    return `${decision.as} ${decision.reason}: ${decision.message} ${decision.leftovers.join(', ')}`;
  if (decision.kind === 'wait') return `${decision.step}: wait ${decision.reason}`;
  return `${decision.step}: ${decision.message}`;
}
