import { wait, type Side } from '../domain/live/decision.ts';
import type {
  NetworkMap,
  Plan,
  PlanMigration,
  PlanVm,
  StorageMap,
  VmStatus,
} from '../domain/live/forklift.ts';
import { LIVE_REASON } from '../domain/live/names.ts';
import { hookName, type RunId } from '../domain/live/run-names.ts';
import type { HookView, HubSide, RunSettings, RunSnapshot } from '../domain/live/run-snapshot.ts';
import { stopOf } from '../domain/live/stop.ts';
import type { ApiServer, Reader } from '../kubernetes/cluster.ts';
import { describeError } from '../kubernetes/errors.ts';
import { HOOKS, JOBS } from '../kubernetes/live-resources.ts';
import type { Clock } from '../runtime/clock.ts';
import { apply } from './apply.ts';
import { decide, type RunDecision } from './decide.ts';
import { found } from './found.ts';
import { readRun, type ClusterIds } from './read-run.ts';

/** What the VMs of a Migration have in common. */
export interface Run {
  readonly plan: Plan;
  readonly migration: PlanMigration;
  readonly storage: StorageMap;
  readonly networks: NetworkMap;
  readonly settings: RunSettings;
  readonly blockers: readonly string[];
  /** What the clusters were when the run began. */
  readonly ids: ClusterIds;
  /** The hub's, and its clock's milliseconds when the Migration was read. */
  readonly hubId: string;
  readonly now: number;
  readonly clusters: Readonly<Record<Side, ApiServer>>;
}

/** One of its VMs, found on the source. */
export interface RunVm {
  /** As in the plan, with id, namespace and name. */
  readonly entry: PlanVm;
  readonly shown: VmStatus | undefined;
}

export interface Moved {
  readonly entry: PlanVm;
  /** undefined: nothing is known. */
  readonly snapshot?: RunSnapshot;
  readonly decision: RunDecision;
  /** The time was over before the VM had to wait. */
  readonly isMoreDue: boolean;
}

/** Of a VM that has not begun. */
export const FIRST_STEP = 'Validate';

/** How long one VM may take in one event, milliseconds: the answer to the Broker must come in time. */
const BUDGET_MS = 8_000;
/** Readings in a row after which others still write the same object. */
const MAX_CHANGES = 5;

/** Reads, decides and writes, until the VM has to wait or is at its end. Never rejects: a cluster that does not answer is a wait. */
export async function move(vm: RunVm, run: Run, clock: Clock): Promise<Moved> {
  const { entry } = vm;
  try {
    return await moveOn(vm, run, clock);
  } catch (error) {
    const message = `nothing is known, so nothing is done: ${describeError(error)}`;
    return { entry, decision: unknown(message), isMoreDue: false };
  }
}

/** Nothing is done, on either side. The step that is shown stays. */
export const unknown = (message: string): RunDecision => ({
  ...wait(LIVE_REASON.clusterUnknown, message),
  step: FIRST_STEP,
});

async function moveOn({ entry, shown }: RunVm, run: Run, clock: Clock): Promise<Moved> {
  const began = clock.elapsed();
  for (let changes = 0; ;) {
    const snapshot = await readSnapshot({ entry, shown }, run);
    const decision = decide(snapshot);
    const isLate = clock.elapsed() - began > BUDGET_MS;
    if (decision.kind !== 'write' || isLate) return { entry, snapshot, decision, isMoreDue: isLate };
    const applied = await apply(decision.writes, run.clusters);
    if (applied.kind === 'refused') {
      const { message } = applied;
      const refused = { ...wait(LIVE_REASON.refused, message), step: decision.step };
      return { entry, snapshot, decision: refused, isMoreDue: false };
    }
    changes = applied.kind === 'changed' ? changes + 1 : 0;
    if (changes > MAX_CHANGES) return { entry, snapshot, decision, isMoreDue: false };
  }
}

async function readSnapshot({ entry, shown }: RunVm, run: Run): Promise<RunSnapshot> {
  const { id = '', namespace = '', name = '' } = entry;
  const { plan, migration, clusters } = run;
  const runId: RunId = { plan: plan.metadata.uid, migration: migration.metadata.uid, vm: id };
  const hub: HubSide = {
    now: run.now,
    cluster: run.hubId,
    ...{ plan, migration, entry },
    storage: run.storage,
    networks: run.networks,
    settings: run.settings,
    hooks: await readHooks(clusters.hub, { entry, run: runId, plan }),
    stop: stopOf(entry, { migration, plan }),
    status: shown,
    blockers: run.blockers,
  };
  return readRun({ run: runId, at: { namespace, name }, hub, clusters, ids: run.ids });
}

interface Hooked {
  readonly entry: PlanVm;
  readonly run: RunId;
  readonly plan: Plan;
}

function readHooks(hub: Reader, { entry, run, plan }: Hooked): Promise<HookView[]> {
  const { namespace = '' } = plan.metadata;
  return Promise.all(
    (entry.hooks ?? []).map(async ({ step, hook }): Promise<HookView> => {
      const at = { namespace: hook.namespace ?? namespace, name: hook.name ?? '' };
      const [object, job] = await Promise.all([
        found(hub.get(HOOKS, at)),
        found(hub.get(JOBS, { namespace, name: hookName(run, step) })),
      ]);
      return { step, hook: object, job };
    }),
  );
}
