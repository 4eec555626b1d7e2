import { shown } from '../../domain/foreign-text.ts';
import { missingRights } from '../plan/rights-missing.ts';
import { reviewOf } from '../plan/requester-review.ts';
import { describeName } from '../run/describe.ts';
import { breakGlassCommand } from '../run/break-glass.ts';
import { LIMIT_MS } from '../run/deadlines.ts';
import { wait, type NewObject, type Side, type RunDecision } from '../run/decision.ts';
import type { Plan, PlanMigration, PlanVm, VmStatus } from '../../domain/live/forklift.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { isNew } from '../steps/hook.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { requestersOf } from '../../domain/live/requester.ts';
import {
  describeMissingRights,
  rightsToCopy,
  rightsToCreate,
  rightsToMove,
  rightsToFill,
  rightsToTake,
  rightsToUse,
  rightToRun,
  type Hosts,
  type Right,
} from '../plan/rights-needed.ts';
import { hookName, type RunId } from '../run/names.ts';
import { isPastCutOver, recordIn, recordText } from '../run/record.ts';
import type { HookView, RunSettings, RunSnapshot, Stop } from '../run/snapshot.ts';
import { waitingSince } from '../run/waiting-since.ts';
import { named } from '../../domain/live/reference.ts';
import type { ApiServer, Reader } from '../../kubernetes/cluster.ts';
import {
  CONFIG_MAPS,
  HOOKS,
  JOBS,
  PLAN_MIGRATIONS,
  VIRTUAL_MACHINES,
} from '../../kubernetes/live-resources.ts';
import type { Clock } from '../../runtime/clock.ts';
import { apply, type Applied } from './apply.ts';
import { decide } from '../steps/decide.ts';
import { getOrUndefined } from '../read/get.ts';
import { wrongNamespace } from './wrong-namespace.ts';
import type { PlanProviders } from '../read/plan-view.ts';
import { withOver } from '../read/target.ts';
import { readRun, type ClusterIds, type Maps } from '../read/run.ts';
import { BEGINNING, COPYING } from '../steps/itinerary.ts';
import { waitForAnswer } from './cluster-unknown.ts';
import { withdrawLateRecord } from './withdraw-late-record.ts';

/** The context that the VMs of a Migration share. */
export interface RunContext {
  readonly plan: Plan;
  readonly migration: PlanMigration;
  /** Returns why the maps and Hooks must not be read; undefined if they may. */
  readonly editRefusal: () => Promise<string | undefined>;
  readonly maps: () => Promise<Maps>;
  readonly settings: RunSettings;
  readonly blockers: readonly string[];
  /** The clusters among the two that are the hub itself, where `live` has rights of its own. */
  readonly hosts: Hosts;
  /** The ids of the clusters when the run began. */
  readonly ids: ClusterIds;
  /** Reads the id of the hub. */
  readonly hubId: () => Promise<string>;
  /** The hub's clock when the Migration was read, milliseconds. */
  readonly now: number;
  readonly clusters: Readonly<Record<Side, ApiServer>>;
  readonly providers: PlanProviders;
}

/** A VM of the run, found on the source. */
export interface RunVm {
  /** The plan's entry, with id, namespace and name. */
  readonly entry: PlanVm;
  readonly shown: VmStatus | undefined;
  /** The reason to end; left out if there is none. */
  readonly stop?: Stop | undefined;
}

export interface MoveResult {
  readonly entry: PlanVm;
  /** The snapshot; undefined if the VM could not be read. */
  readonly snapshot?: RunSnapshot;
  readonly decision: RunDecision;
  /** Whether the time was over before the VM had to wait. */
  readonly requeue: boolean;
}

/**
 * Milliseconds for which one VM goes on in one event: the answer to the Broker must come in time. `live` writes the decision however long
 * the reading took, because each write has its precondition: otherwise a slow cluster would never get one.
 */
const BUDGET_MS = 8_000;
/** Number of readings in a row after which others still write the same object. */
const MAX_CHANGES = 5;

/** Reads, decides and writes, until the VM has to wait or is at its end. Never rejects: a cluster that does not answer is a wait. */
export async function moveVm(vm: RunVm, run: RunContext, clock: Clock): Promise<MoveResult> {
  const { entry } = vm;
  try {
    const moved = await moveUntilWait(vm, run, clock);
    const { decision, snapshot } = moved;
    if (decision.kind !== 'ended' || snapshot === undefined) return moved;
    return { ...moved, snapshot: { ...snapshot, target: await withOver(run.clusters.target, snapshot) } };
  } catch (error) {
    return { entry, decision: await waitForAnswer(error, run), requeue: false };
  }
}

async function moveUntilWait(vm: RunVm, run: RunContext, clock: Clock): Promise<MoveResult> {
  const began = clock.elapsed();
  let refused: string | undefined;
  let isFirst = true;
  let snapshot: RunSnapshot | undefined;
  for (let changes = 0; ;) {
    snapshot = await readSnapshot(vm, run, { refused, snapshot });
    const decision = decide(snapshot);
    if (decision.kind !== 'write') return { entry: vm.entry, snapshot, decision, requeue: false };
    const applied = await writeDecided({ snapshot, decision }, run);
    // The wait in the status is about the first write.
    const isLong = isFirst && isRefusedForLong(snapshot);
    isFirst = false;
    const before = refused;
    refused = refusalIn(applied);
    if (refused !== undefined && !isLong) {
      const waiting = {
        ...wait(LIVE_REASON.refused, refusalMessage({ refused, before }, run)),
        step: decision.step,
      };
      return { entry: vm.entry, snapshot, decision: waiting, requeue: false };
    }
    changes = applied.kind === 'changed' ? changes + 1 : 0;
    if (changes > MAX_CHANGES) return { entry: vm.entry, snapshot, decision, requeue: false };
    // The next reading of this event decides about a write that has been refused for long.
    const isLate = refused === undefined && clock.elapsed() - began > BUDGET_MS;
    if (isLate) return { entry: vm.entry, snapshot, decision, requeue: true };
  }
}

/** `before`: the refused write for which the run ends. Its record cannot be written either then. */
const refusalMessage = (
  { refused, before }: { readonly refused: string; readonly before: string | undefined },
  { migration }: RunContext,
): string =>
  before === undefined
    ? refused
    : `${refused}. The run cannot end while this is refused: allow it, or ${breakGlassCommand(migration)}`;

const refusalIn = (applied: Applied): string | undefined =>
  applied.kind === 'refused' ? applied.message : undefined;

interface DecidedWrites {
  readonly snapshot: RunSnapshot;
  readonly decision: Extract<RunDecision, { kind: 'write' }>;
}

/**
 * Rejects if the Migration has changed and the VM has no record. The end of the VM is written to the status before its record is removed,
 * so the Migration may have been read before that end, and the VM after it.
 */
async function writeDecided({ snapshot, decision }: DecidedWrites, run: RunContext): Promise<Applied> {
  const { migration, clusters } = run;
  const { vm, vmi } = snapshot.source;
  const message = await blockerOfWrites({ snapshot, decision }, run);
  if (message !== undefined) return { kind: 'refused', message };
  const isUnrecorded = recordIn(snapshot) === undefined;
  if (isUnrecorded && !(await isUnchanged(migration, clusters.hub))) throw hasChanged();
  const isDeleting = decision.writes.some(({ verb }) => verb === 'delete');
  // The object was read after the record: by now it may belong to a new run, and have the guest.
  if (isDeleting && vm !== undefined && !(await hasRecordAsRead(vm, clusters.source)))
    return { kind: 'changed' };
  const applied = await apply(decision.writes, clusters);
  const { entry } = snapshot.hub;
  const isRecorded = isUnrecorded && applied.kind === 'written';
  if (isRecorded && (await withdrawLateRecord({ migration, entry, vmi, ...decision }, clusters)))
    throw hasChanged();
  return applied;
}

const hasChanged = (): Error => new Error('the Migration has changed: read again');

async function isUnchanged({ metadata }: PlanMigration, hub: Reader): Promise<boolean> {
  const { namespace = '', name, resourceVersion } = metadata;
  const now = await getOrUndefined(hub.get(PLAN_MIGRATIONS, { namespace, name }));
  return now?.metadata.resourceVersion === resourceVersion;
}

/** Whether the source VM has the record that was read. KubeVirt writes the VM often while its guest leaves, which changes no record. */
async function hasRecordAsRead(vm: VirtualMachine, source: Reader): Promise<boolean> {
  const { namespace = '', name, uid } = vm.metadata;
  const now = await getOrUndefined(source.get(VIRTUAL_MACHINES, { namespace, name }));
  return now?.metadata.uid === uid && recordText(now) === recordText(vm);
}

/**
 * Returns why the writes must not be done; undefined if they may. The user had the rights when the run began: by now the VM may name more,
 * its record may name another namespace, and the Plan may be another one of its name, or have been edited by a user with fewer rights.
 */
async function blockerOfWrites(due: DecidedWrites, run: RunContext): Promise<string | undefined> {
  const elsewhere = wrongNamespace(due.decision.writes, run.plan);
  if (elsewhere !== undefined) return elsewhere;
  const rights = rightsDue(due, run);
  if (rights.length === 0) return undefined;
  return (await describeLack(rights, run)) ?? blockerOfHooks(due, run);
}

/** Returns which of the rights one of the users of the run lacks; undefined: none. */
async function describeLack(rights: readonly Right[], run: RunContext): Promise<string | undefined> {
  const requesters = requestersOf([run.migration, run.plan]);
  if (requesters === undefined)
    return 'nobody is known to have created the Migration, or to have written its Plan';
  for (const requester of requesters) {
    const missing = await missingRights(run.clusters.hub, requester, rights);
    if (missing.length > 0) return describeMissingRights(requester.user, missing);
  }
  return undefined;
}

/**
 * Rejects where the record names another namespace of the hub than the Plan, and the user of the run may not make VMs there: who may edit the
 * VM may edit its record, and a decision would say what is in that namespace.
 */
async function expectMayKnow(snapshot: RunSnapshot, run: RunContext): Promise<void> {
  const { namespace } = recordIn(snapshot)?.target ?? {};
  if (namespace === undefined || namespace === run.plan.spec.targetNamespace || !run.hosts.isTarget) return;
  const lack = await describeLack(rightsToFill(namespace), run);
  if (lack === undefined) return;
  throw new Error(`the record of the VM names another namespace of the target than the Plan. ${lack}`);
}

/** Returns why a hook must not run: its requester says what the pod does, and may not make one. */
async function blockerOfHooks(
  { snapshot, decision }: DecidedWrites,
  { plan, clusters: { hub } }: RunContext,
): Promise<string | undefined> {
  if (!decision.writes.some(({ verb, on }) => verb === 'create' && on === 'hub')) return undefined;
  for (const { step, hook } of snapshot.hub.hooks) {
    if (hook === undefined || step !== decision.step) continue;
    const review = await reviewOf([hook], hub);
    const refusal = await review([rightToRun(plan)]);
    if (refusal !== undefined) return `Hook ${describeName(hook)}: ${shown(refusal.message)}`;
  }
  return undefined;
}

/** Returns the rights for the first record, and for new objects. A run that only goes back needs none. */
const rightsDue = (due: DecidedWrites, run: RunContext): Right[] => [
  ...(recordIn(due.snapshot) === undefined ? rightsToRecord(due, run) : []),
  ...rightsForNew(due, run),
];

/**
 * Returns the rights for a begin, and for a VM of the hub: the statuses, by which a record that is gone is written again, do not prove that
 * the run has begun there.
 */
function rightsToRecord({ snapshot, decision }: DecidedWrites, { hosts, plan }: RunContext): Right[] {
  const { entry } = snapshot.hub;
  if (decision.step === BEGINNING.name)
    return [...rightsToUse(plan), ...rightsToMove(only(entry, plan), hosts)];
  return hosts.isSource ? rightsToTake(entry) : [];
}

function rightsForNew({ snapshot, decision }: DecidedWrites, { hosts, plan }: RunContext): Right[] {
  const { vm } = snapshot.source;
  const made = (on: Side): NewObject[] =>
    decision.writes.flatMap((one) => (one.verb === 'create' && one.on === on ? one.object : []));
  return [
    ...(made('source').length + made('target').length > 0 ? rightsToUse(plan) : []),
    ...(made('hub').length > 0 ? rightsToMove(only(snapshot.hub.entry, plan), NO_HOSTS) : []),
    ...(hosts.isTarget ? rightsToCreate(made('target')) : []),
    ...(hosts.isSource && vm !== undefined && decision.step === COPYING.name ? rightsToCopy(vm) : []),
  ];
}

/** Returns the plan with this VM alone. */
const only = (entry: PlanVm, plan: Plan): Plan => ({ ...plan, spec: { ...plan.spec, vms: [entry] } });

/** Hosts that leave only the rights of hooks. */
const NO_HOSTS: Hosts = { isSource: false, isTarget: false };

/**
 * Whether the status of the VM has said for long that a write is refused; time in which a cluster did not answer counts. Past its cut-over
 * the limit is the one for the proof that the source is off.
 */
function isRefusedForLong(snapshot: RunSnapshot): boolean {
  const { hub } = snapshot;
  const record = recordIn(snapshot);
  const isPast = record !== undefined && isPastCutOver(record);
  const limitMs = isPast ? hub.settings.sourceMs : LIMIT_MS.refused;
  return hub.now - waitingSince(hub, LIVE_REASON.refused) > limitMs;
}

async function readSnapshot(
  { entry, shown, stop }: RunVm,
  run: RunContext,
  {
    refused,
    snapshot: before,
  }: { readonly refused: string | undefined; readonly snapshot: RunSnapshot | undefined },
): Promise<RunSnapshot> {
  const { id = '', namespace = '', name = '' } = entry;
  const { plan, migration, clusters } = run;
  const runId: RunId = { plan: plan.metadata.uid, migration: migration.metadata.uid, vm: id };
  const hub = {
    now: run.now,
    ...{ plan, migration, entry },
    settings: run.settings,
    // The hooks are read before the record (hook.ts).
    hooks: await readHooks({ entry, runId }, run),
    stop,
    status: shown,
    refused,
    blockers: run.blockers,
  };
  const { ids, maps, hubId } = run;
  const at = { namespace, name };
  const snapshot = await readRun({ run: runId, at, hub, maps, hubId, clusters, ids, before });
  await expectMayKnow(snapshot, run);
  return snapshot;
}

interface Hooked {
  readonly entry: PlanVm;
  readonly runId: RunId;
}

async function readHooks(
  { entry: { hooks = [] }, runId }: Hooked,
  { plan, clusters: { hub }, editRefusal }: RunContext,
): Promise<HookView[]> {
  const { namespace = '' } = plan.metadata;
  const unread = hooks.length === 0 ? undefined : await editRefusal();
  return Promise.all(
    hooks.map(async ({ step, hook }): Promise<HookView> => {
      const made = { namespace, name: hookName(runId, step) };
      const [object, job] = await Promise.all([
        unread === undefined ? getOrUndefined(hub.get(HOOKS, { namespace, ...named(hook) })) : undefined,
        getOrUndefined(hub.get(JOBS, made)),
      ]);
      const view = { step, hook: object, job, unread };
      if (job === undefined || !isNew(job)) return view;
      return { ...view, files: await getOrUndefined(hub.get(CONFIG_MAPS, made)) };
    }),
  );
}
