import { createHash } from 'node:crypto';
import type { MaintenanceChanged } from '../../functions/domain/events.ts';
import { fingerprint } from '../../functions/domain/fingerprint.ts';
import {
  knownVerdicts,
  verdictKey,
  type KnownVerdict,
} from '../../functions/domain/progress/known-verdict.ts';
import { REASON } from '../../functions/domain/names.ts';
import type { Maintenance } from '../../functions/domain/progress/maintenance.ts';
import { MAINTENANCE_CHANGED } from '../../functions/domain/progress/names.ts';
import {
  refusedMigrations,
  type RefusedMigration,
} from '../../functions/domain/progress/refused-migration.ts';
import {
  isOpen,
  owesEvents,
  type MaintenanceKind,
  type MaintenanceProgress,
  type Subject,
} from '../../functions/domain/progress/progress-object.ts';
import { isFor } from '../../functions/progress/vm-state.ts';
import { isPending } from '../../functions/domain/migration.ts';
import type { Migration } from '../../functions/domain/objects.ts';
import { isQueued, slotsLeft } from '../../functions/domain/view/slots.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { decide } from '../../functions/progress/decide.ts';
import type { ClusterView } from '../view/cluster-view.ts';
import { lookEvery } from '../view/look-every.ts';
import type { MaintenanceSource } from './maintenance-route.ts';
import { MaintenanceWatches, type MaintenanceWatchesOptions } from './maintenance-watches.ts';
import { observe, outdated, vmOf, type MaintenanceFacts } from './observe.ts';
import { Settling } from './settling.ts';
import { nodesToWatch } from './subjects.ts';

export interface MaintenanceTrackerOptions extends MaintenanceWatchesOptions {
  readonly kubevirtNamespace: string;
  /** Returns the view; undefined until its watches have listed every kind. */
  readonly view: () => ClusterView | undefined;
  readonly post: (event: MaintenanceChanged) => Promise<void>;
}

/** Milliseconds between two looks, so the tracker posts at most once in this time about one drain. */
const LOOK_MS = 2_000;
/** A change that is still to be written, or an event that is still to be posted, is posted again after this time. */
const AGAIN_MS = 5_000;
/** Milliseconds for which verdicts are watched after the last need: each start reads every Event of the cluster from etcd. */
const VERDICTS_MS = 600_000;
/** A look is used again for this many times its own duration: any pod may ask, and one with 1,000 verdicts takes 140 ms. */
const REUSED = 10;

/** Decides from memory whether a drain or an upgrade needs a write by `progress`, and triggers it. It writes nothing itself. */
export class MaintenanceTracker implements MaintenanceSource {
  readonly #options: MaintenanceTrackerOptions;
  readonly #watches: MaintenanceWatches;
  readonly #settling: Settling;
  /** The change that each subject needs, the time since when it is known, and the time of the last post; milliseconds of the clock. */
  readonly #due = new Map<string, { readonly what: string; readonly since: number; posted: number }>();
  #blocked = new Map<MaintenanceKind, number>();
  /** The time of the last need, in milliseconds of the clock. */
  #verdictsNeededAt = -Infinity;
  #refusalsNeededAt = -Infinity;
  /** The last look; milliseconds of the clock. */
  #recent: { readonly look: Look | undefined; readonly until: number } | undefined;

  constructor(options: MaintenanceTrackerOptions) {
    this.#options = options;
    this.#watches = new MaintenanceWatches(options);
    this.#settling = new Settling(options);
  }

  /** VMs that are blocked, of open drains and upgrades. */
  blocked(): ReadonlyMap<MaintenanceKind, number> {
    return this.#blocked;
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const watching = this.#watches.run(signal);
    await lookEvery(LOOK_MS, () => this.#look(), { clock, log, signal, what: 'drains and upgrades' });
    await watching;
  }

  maintenanceOf(subject: Subject): Maintenance | undefined {
    const look = this.#recentLook();
    return look === undefined ? undefined : this.#observed(subject, look);
  }

  #recentLook(): Look | undefined {
    const isRecent = this.#recent !== undefined && this.#options.clock.elapsed() < this.#recent.until;
    return isRecent ? this.#recent?.look : this.#newLook();
  }

  #newLook(): Look | undefined {
    const { clock } = this.#options;
    const start = clock.elapsed();
    const look = this.#lookAt();
    const now = clock.elapsed();
    this.#recent = { look, until: now + REUSED * (now - start) };
    return look;
  }

  /** Looks at the cluster; undefined until every kind is listed. */
  #lookAt(): Look | undefined {
    const view = this.#options.view();
    const { isReady, verdicts } = this.#watches;
    if (view === undefined || !isReady || verdicts === undefined) return undefined;
    return { ...lookAt(view, knownVerdicts(verdicts)), refused: refusedMigrations(this.#watches.refusals) };
  }

  /** The VMs on a node; undefined until they are listed. A node that no drain is about is not watched, and has nothing to report. */
  #onNode(name: string, view: ClusterView): ReturnType<MaintenanceWatches['onNode']> {
    const known = this.#watches.onNode(name);
    const isListing = known === undefined && this.#nodes(view).includes(name);
    return known ?? (isListing ? undefined : NOTHING);
  }

  /** The VMs of an upgrade; undefined until they are listed. */
  #ofUpgrade(): ReturnType<MaintenanceWatches['onNode']> {
    const { outdated: vmis } = this.#watches;
    return vmis && { ...NOTHING, vmis };
  }

  #nodes({ migrations }: ClusterView): string[] {
    const { cordoned, progresses } = this.#watches;
    return nodesToWatch({ cordoned, progresses, migrations: [...migrations.values()] });
  }

  /** Whether verdicts are needed: while a migration is pending during a drain or an upgrade, and for some time afterwards. */
  #needsVerdicts({ migrations }: ClusterView, nodes: readonly string[]): boolean {
    const { progresses, outdated: vmis } = this.#watches;
    const now = this.#options.clock.elapsed();
    const isMaintained = nodes.length > 0 || (vmis?.length ?? 0) > 0 || progresses.some(isOpen);
    if (isMaintained && [...migrations.values()].some(isPending)) this.#verdictsNeededAt = now;
    return now - this.#verdictsNeededAt < VERDICTS_MS;
  }

  /** Whether refusals are needed: while a VM has no migration, and for some time afterwards. */
  #needsRefusals(): boolean {
    const now = this.#options.clock.elapsed();
    if (this.#watches.progresses.some(lacksMigration)) this.#refusalsNeededAt = now;
    return now - this.#refusalsNeededAt < VERDICTS_MS;
  }

  #look(): void {
    const view = this.#options.view();
    if (view === undefined || !this.#watches.isReady) return;
    const nodes = this.#nodes(view);
    this.#watches.watchNodes(nodes);
    this.#watches.watchVerdicts(this.#needsVerdicts(view, nodes));
    this.#watches.watchRefusals(this.#needsRefusals());
    // This look also answers the requests that the posts below cause.
    const look = this.#newLook();
    if (look === undefined) return;
    this.#noteUpgrade(look);
    const subjects: Subject[] = [
      { kind: 'Upgrade' },
      ...nodes.map((node): Subject => ({ kind: 'Drain', node })),
    ];
    const blocked = new Map<MaintenanceKind, number>();
    for (const subject of subjects) {
      const seen = this.#observed(subject, look);
      if (seen === undefined) continue;
      this.#postIfDue(subject, seen);
      if (seen.current === undefined || !isOpen(seen.current)) continue;
      const stuck = Object.values(seen.blockedBy).reduce((sum, count) => sum + count, 0);
      blocked.set(subject.kind, (blocked.get(subject.kind) ?? 0) + stuck);
    }
    this.#blocked = blocked;
  }

  /** Notes the state of an upgrade that is reported. Without a report, it reads nothing. */
  #noteUpgrade({ view, migrations, isFull, more }: Look): void {
    const { observedDeploymentID: observed, targetDeploymentID: target } = view.kubevirt?.status ?? {};
    const { progresses, outdated: vmis } = this.#watches;
    const isReported = progresses.some((each) => each.spec.kind === 'Upgrade' && isOpen(each));
    const areCurrent = (): boolean =>
      vmis !== undefined && outdated({ vmis, migrations: migrations.Upgrade, isFull, more }).length === 0;
    const isQuiet = isReported && observed === target && areCurrent();
    this.#settling.note(isQuiet ? target : undefined);
  }

  #observed(subject: Subject, look: Look): Maintenance | undefined {
    const { view, migrations, moves, isFull, more, incumbent, refused } = look;
    const on = subject.kind === 'Drain' ? this.#onNode(subject.node, view) : this.#ofUpgrade();
    if (on === undefined) return undefined;
    const target = view.kubevirt?.status?.targetDeploymentID ?? '';
    return observe(subject, {
      kubevirt: view.kubevirt,
      ...on,
      migrations: migrations[subject.kind],
      moves,
      progresses: this.#watches.progresses,
      isFull,
      more,
      refused,
      isSettled: this.#settling.isSettled(target),
      label: labelOf(subject, target),
      now: this.#options.clock.now().getTime(),
      incumbent,
    });
  }

  #postIfDue(subject: Subject, seen: Maintenance): void {
    const { clock } = this.#options;
    const key = subject.node ?? '';
    const what = whatIsDue(seen, clock.now().getTime());
    if (what === undefined) {
      this.#due.delete(key);
      return;
    }
    const known = this.#due.get(key);
    const now = clock.elapsed();
    const due = known?.what === what ? known : { what, since: now, posted: -Infinity };
    this.#due.set(key, due);
    // `progress` empties an outbox by itself, unless it was stopped.
    const isLeft = !what.startsWith(OUTBOX) || now - due.since >= AGAIN_MS;
    if (!isLeft || now - due.posted < AGAIN_MS) return;
    due.posted = now;
    void this.#post(subject, fingerprint(what));
  }

  async #post(maintenance: Subject, cause: string): Promise<void> {
    const { post, log } = this.#options;
    try {
      await post({ type: MAINTENANCE_CHANGED, from: 'guard', maintenance, cause });
    } catch (error) {
      log('warn', `not posted: ${describeError(error)}`, { event: MAINTENANCE_CHANGED, maintenance });
    }
  }
}

const NOTHING = { node: undefined, vmis: [], arriving: undefined };

const OUTBOX = 'outbox ';

/** The work that `progress` has to do, as a text that changes with it; undefined: nothing. */
function whatIsDue(seen: Maintenance, now: number): string | undefined {
  if (seen.incumbent !== undefined) return undefined;
  const decision = decide(seen, now);
  if (decision.kind === 'open') return `open ${decision.opening.name}`;
  if (decision.kind === 'write') {
    // Without its times, which differ.
    const { state, reason, progress, buckets } = decision.object.status ?? {};
    return `write ${decision.object.metadata.uid} ${JSON.stringify([state, reason, progress, buckets])}`;
  }
  const owing = [...(seen.current === undefined ? [] : [seen.current]), ...seen.owing].filter(owesEvents);
  const ids = owing.flatMap(({ status }) => status?.outbox.map(({ id }) => id) ?? []);
  if (ids.length > 0) return `${OUTBOX}${ids.join(' ')}`;
  // The list is the same for each subject.
  const expired = seen.kind === 'Upgrade' ? seen.expired.map(({ uid }) => uid) : [];
  return expired.length === 0 ? undefined : `expired ${expired.join(' ')}`;
}

/** `drain-<8 of sha256(node)>`, `upgrade-<8 of the deployment id>`. */
const labelOf = ({ node }: Subject, target: string): string =>
  node === undefined
    ? `upgrade-${
        target
          .toLowerCase()
          .replaceAll(/[^a-z0-9]/g, '')
          .slice(0, 8) || 'unknown'
      }`
    : `drain-${createHash('sha256').update(node).digest('hex').slice(0, 8)}`;

/** The migration of each VM that has not ended; of several, the one that KubeVirt created for this kind. */
function migrationsByVm(view: ClusterView, kind: MaintenanceKind): ReadonlyMap<string, Migration> {
  const byVm = new Map<string, Migration>();
  for (const migration of view.migrations.values()) {
    const vm = vmOf(migration.metadata.namespace ?? '', migration.spec.vmiName ?? '');
    if (!byVm.has(vm) || isFor(migration, kind)) byVm.set(vm, migration);
  }
  return byVm;
}

/** Whether an open drain or upgrade has a VM without a migration. */
const lacksMigration = (progress: MaintenanceProgress): boolean =>
  isOpen(progress) &&
  (progress.status?.buckets ?? []).some(
    ({ name, vms }) =>
      name === 'noMigrationYet' || vms.some(({ reason }) => reason === REASON.migrationQuota),
  );

/** The facts that one look gives to every drain and to the upgrade. */
interface Look extends Pick<MaintenanceFacts, 'isFull' | 'more' | 'incumbent'> {
  readonly refused: ReadonlyMap<string, RefusedMigration>;
  readonly view: ClusterView;
  readonly moves: readonly Migration[];
  readonly migrations: Readonly<Record<MaintenanceKind, MaintenanceFacts['migrations']>>;
}

const lookAt = (view: ClusterView, verdicts: ReadonlyMap<string, KnownVerdict>): Omit<Look, 'refused'> => ({
  view,
  moves: [...view.moves.values()],
  migrations: { Drain: migrationsByVm(view, 'Drain'), Upgrade: migrationsByVm(view, 'Upgrade') },
  incumbent: view.incumbent(),
  ...slotsIn(view, verdicts),
});

/** The facts of the cluster view about slots and about a migration; it counts the slots once. */
function slotsIn(
  view: ClusterView,
  verdicts: ReadonlyMap<string, KnownVerdict>,
): Pick<MaintenanceFacts, 'isFull' | 'more'> {
  const state = view.state();
  const left = slotsLeft(state, '');
  const locked = new Set(state.held.flatMap(({ launchers }) => launchers));
  return {
    isFull: left.cluster === 0,
    more: (migration) => ({
      isQueued: isQueued(state, left, migration),
      isLocked: locked.has(migration.metadata.uid),
      verdict: verdicts.get(verdictKey(migration.metadata.namespace, migration.metadata.uid)),
    }),
  };
}
