import type { LiveWrite } from '../../../../functions/live/run/decision.ts';
import type { PlanMigration } from '../../../../functions/domain/live/forklift.ts';
import { LIVE_EVENT, LIVE_KIND } from '../../../../functions/domain/live/names.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import { ApiError, Unreachable } from '../../../../functions/kubernetes/errors.ts';
import { JOBS, PLAN_MIGRATIONS } from '../../../../functions/kubernetes/live-resources.ts';
import type { ReconcileResult } from '../../../../functions/live/migration/start.ts';
import type { LiveContext } from '../../../../functions/live/context.ts';
import { reconcileMigration } from '../../../../functions/live/migration/reconcile.ts';
import { migrationsOfEvent } from '../../../../functions/live/migration/migrations-of-event.ts';
import { FULL_VMIS, VMS } from '../../../cluster/kubevirt/objects/objects.ts';
import type { Random } from '../../engine/random.ts';
import {
  brokenBy,
  brokenByEnd,
  brokenByFirstEnd,
  brokenByJob,
  brokenByText,
  brokenByWait,
  haltsSource,
  type Checked,
  type CheckedEnding,
} from '../checker.ts';
import { hiddenBySuccess } from '../after-move.ts';
import { isRecorded, type Clusters } from './clusters.ts';
import { isStarted } from './hooks.ts';
import { endIn, textIn, waitIn, MIGRATION_AT, type Hub } from './hub.ts';
import { contextOf } from './reach.ts';
import type { Servers } from './servers.ts';

interface CallsOptions {
  readonly clusters: Clusters;
  readonly hub: Hub;
  readonly servers: Servers;
  readonly random: Random;
  readonly checked: () => Checked;
  /** Milliseconds that the next request comes later. */
  readonly stall: () => number;
  readonly halts: number[];
  readonly onHit: (hit: string) => void;
  readonly onNote: (line: string) => void;
  readonly onViolation: (violation: string | undefined) => void;
}

interface Call {
  /** Milliseconds. */
  readonly began: number;
  /** Of its last reading of the source VM with its VMI: since when, milliseconds. */
  readSince: number;
  /** The record was on the VM then, or went with it. */
  hadRecord: boolean;
  /** The write that was accepted last; undefined: none yet. */
  wrote: string | undefined;
  /** Its process is gone. */
  isGone: boolean;
}

/** A call that shows the end of a run, and since when it had read, milliseconds. */
interface Ending {
  readonly call: Call;
  readonly readSince: number;
}

/** The hit of a process that goes after this write, before its next one. */
export const crashAfter = (write: string): string => `crash after ${write}`;

/** Reads are many, and a crash between two of them is like one before the next write. */
const READS_FOR_A_WRITE = 20;

/** The calls of `live`: each is the whole pass of the Migration, with anything between its requests. */
export class Calls {
  /** More than one, because an event may be delivered twice. */
  underWay = 0;
  isCalm = false;
  /** How the run ended, as it was shown first. */
  outcome = 'none';
  /** What the last call said. */
  said = '';
  readonly #options: CallsOptions;
  /** What each object of the target was made by, and when. */
  readonly #made = new Map<string, { readonly call: Call; readonly at: number }>();
  /** The call that showed the end of a run last while it had a record. */
  #ending: Ending | undefined;
  /** When an end with nothing left over was shown, milliseconds. */
  #endedAt = -Infinity;
  readonly #crashRate: number;
  /** How far apart the requests of a call are, milliseconds. */
  readonly #lagMs: number;

  constructor(options: CallsOptions) {
    const { random } = options;
    this.#options = options;
    this.#crashRate = random.pick([0, 0.05, 0.2]);
    this.#lagMs = random.pick([1, 5, 40]);
  }

  isLate(object: KubernetesObject): boolean {
    return this.#ending !== undefined && this.#isMadeBeside(this.#ending, object);
  }

  #isMadeBeside({ call, readSince }: Ending, object: KubernetesObject): boolean {
    const made = this.#made.get(keyOf(object));
    return made !== undefined && made.call !== call && made.at >= readSince;
  }

  /** Resolves when it is over, or its process is gone. */
  async one(): Promise<void> {
    const { clusters, hub, servers, random, onNote, onViolation } = this.#options;
    const { promise: gone, resolve: crash } = Promise.withResolvers<undefined>();
    const { now } = clusters;
    let vmRead = { readSince: now, hadRecord: false };
    const call: Call = { began: now, ...vmRead, wrote: undefined, isGone: false };
    const events = {
      pause: (isWrite: boolean) => this.#pause(call, isWrite, () => crash(undefined)),
      before: (write: LiveWrite) => this.#before(call, write),
      isLost: () => random.chance(0.5),
      failureOf: (write: LiveWrite) => servers.failureOf(write),
      onRead: (on: string, kind: string) => {
        if (on !== 'source') return;
        // Before a delete the VM is read alone once more, by which nothing else is known.
        if (kind === FULL_VMIS.kind) Object.assign(call, vmRead);
        if (kind !== VMS.kind) return;
        const vm = clusters.vm('source');
        vmRead = { readSince: clusters.now, hadRecord: vm === undefined || isRecorded(vm) };
      },
    };
    this.underWay += 1;
    try {
      const context = contextOf({ clusters, hub, events }, () => undefined);
      const result = await Promise.race([passOf(hub, context), gone]);
      if (result === undefined) return;
      this.said = result.message;
      onNote(`  ${result.message}`);
    } catch (error) {
      // The Broker brings the event again.
      if (error instanceof ApiError || isOfHub(error)) this.#refused(error);
      else onViolation(`L4: the call throws ${String(error)}`);
    } finally {
      this.underWay -= 1;
    }
  }

  #refused({ message }: Error): void {
    this.#options.onHit('refused');
    this.#options.onNote(`    refused: ${message}`);
  }

  async #pause(call: Call, isWrite: boolean, crash: () => void): Promise<void> {
    const { clusters, random, stall, onHit, onNote } = this.#options;
    await new Promise<void>((resolve) =>
      clusters.pair.schedule.later('live', random.below(this.#lagMs) + stall(), resolve),
    );
    const rate = isWrite ? this.#crashRate : this.#crashRate / READS_FOR_A_WRITE;
    if (!call.isGone && !this.isCalm && random.chance(rate)) {
      call.isGone = true;
      onHit(call.wrote === undefined ? 'crash' : crashAfter(call.wrote));
      onNote('    crash');
      crash();
    }
    if (call.isGone) await new Promise(() => undefined);
  }

  #before(call: Call, write: LiveWrite): () => void {
    const { clusters, hub, checked, halts, onHit, onNote, onViolation } = this.#options;
    const text = `${write.verb} ${nameOf(write.object)} on ${write.on}`;
    onNote(`    ${text}`);
    if (write.on === 'hub') {
      const before = hub.migration;
      const isHook = write.object.kind === JOBS.kind && isStarted(write.object as KubernetesObject);
      const broken = isHook ? brokenByJob(checked(), write) : undefined;
      return () => {
        call.wrote = text;
        onHit(text);
        onViolation(broken);
        if (write.object.kind === PLAN_MIGRATIONS.kind) this.#shown(call, before, hub.migration);
      };
    }
    const isStopped = (hub.stoppedAt ?? Infinity) < call.began;
    const { readSince } = call;
    const isForbidden = (hub.forbiddenAt ?? Infinity) < readSince;
    const isEndNews = this.#endedAt >= readSince;
    const broken = brokenBy({ ...checked(), readSince, isStopped, isForbidden, isEndNews }, write);
    const isHalt = haltsSource(write, clusters);
    // Only a write that was accepted breaks anything.
    return () => {
      call.wrote = text;
      if (isHalt) halts.push(clusters.now);
      if (write.verb === 'create') this.#made.set(keyOf(write.object), { call, at: clusters.now });
      onHit(text);
      onViolation(broken);
    };
  }

  #said(checked: CheckedEnding, before?: PlanMigration, after?: PlanMigration): void {
    const { onViolation } = this.#options;
    onViolation(brokenByWait(checked, waitIn(after)));
    const text = textIn(after);
    if (text !== textIn(before)) onViolation(brokenByText(checked, text));
  }

  #shown(call: Call, before: PlanMigration | undefined, after: PlanMigration | undefined): void {
    const { clusters, onViolation, onNote } = this.#options;
    const { began, readSince } = call;
    const checked = { ...this.#options.checked(), began, readSince };
    const [known, end] = [endIn(before), endIn(after)];
    this.#said(checked, before, after);
    if (end === undefined) return;
    const isEnding = known === undefined || known.leftovers.length > 0;
    if (isEnding && call.hadRecord) this.#ending = { call, readSince };
    const { as, reason, leftovers } = end;
    if (known === undefined) {
      this.outcome = `${as} ${reason}${leftovers.map((one) => ` ${one.split(' ')[0] ?? ''}`).join('')}`;
      onNote(`    ends: ${as} ${reason} ${leftovers.join(', ')}`);
      onViolation(brokenByFirstEnd(checked, end));
      onViolation(hiddenBySuccess(checked, end));
    }
    if (leftovers.length > 0 || (known !== undefined && known.leftovers.length === 0)) return;
    this.#endedAt = clusters.now;
    // After an end without a record the run reads the VM again, and goes back where another call has begun it: at last nothing is left.
    const isLate = (object: KubernetesObject): boolean => this.#isMadeBeside({ call, readSince }, object);
    onViolation(brokenByEnd({ ...checked, ...(call.hadRecord ? {} : { isLate }) }, end));
  }
}

/** A Plan or Provider that is deleted after the run has an event of its own. The guard looks at a Plan until it is gone. */
async function passOf(hub: Hub, context: LiveContext): Promise<ReconcileResult> {
  for (const { kind = '', metadata } of hub.isReleased ? hub.going : []) {
    const { namespace = '', name } = metadata;
    await migrationsOfEvent(
      { namespace, name, type: LIVE_EVENT.resync, id: 'sweep', kind, isChange: false, runs: [] },
      context,
    );
  }
  return reconcileMigration(MIGRATION_AT, context);
}

/** A cluster that does not answer is no error of the call. */
const isOfHub = (error: unknown): error is Unreachable =>
  error instanceof Unreachable && error.message.includes('hub');

const keyOf = ({ kind = '', metadata }: LiveWrite['object']): string => `${kind} ${metadata.name}`;

const nameOf = ({ kind = '' }: Pick<KubernetesObject, 'kind'>): string =>
  kind === LIVE_KIND.vm.kind ? 'VM' : kind.replace('VirtualMachineInstance', 'VMI');
