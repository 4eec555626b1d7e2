import { nextConditions, type Finding } from '../../domain/live/conditions.ts';
import type {
  LiveCondition,
  NamedReference,
  Plan,
  PlanMigration,
  PlanStatus,
  RunSnapshot,
  SnapshotReference,
} from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, type LiveConditionType } from '../../domain/live/names.ts';
import type { PlanView } from '../findings/plan-view.ts';
import { ABOUT_VMS } from '../run/state.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { defined } from './defined.ts';
import type { RunSummary } from './run.ts';

/** The objects that the plan refers to, as they are at the start of a run. */
export type Referred = Pick<PlanView, 'source' | 'destination' | 'networks' | 'storage'>;

interface About {
  readonly plan: Plan;
  readonly migration: PlanMigration;
  readonly refers: Referred | undefined;
}

/** Number of runs in the history. */
const HISTORY = 20;

/** Returns the plan's status with its newest run. Before a run has started, and once there is a newer one, the status stays. */
export function withRun(of: About, run: RunSummary, time: string): PlanStatus {
  const { plan, migration } = of;
  const before = plan.status ?? {};
  const { started, completed, vms, progress, message } = run;
  const known = before.migration?.history ?? [];
  const isOurs = ({ migration: { uid } }: RunSnapshot): boolean => uid === migration.metadata.uid;
  const isOld = known.slice(0, -1).some(isOurs);
  if (started === undefined || isOld) return before;
  const findings = findingsOf(run);
  const last = known.slice(-1).find(isOurs) ?? snapshotOf(of);
  const history = [
    ...known.filter((snapshot) => !isOurs(snapshot)),
    { ...last, conditions: withFindings(last.conditions ?? [], findings, time) },
  ];
  return {
    ...before,
    conditions: withFindings(withoutVmFindings(before.conditions ?? [], run), findings, time),
    migration: {
      ...defined({ started, completed, progress, message }),
      ...{ history: history.slice(-HISTORY), vms },
    },
  };
}

/** Removes the findings about VMs. A plan whose VMs have all moved is not checked again: they would stay for ever. */
const withoutVmFindings = (
  conditions: readonly LiveCondition[],
  { end }: RunSummary,
): readonly LiveCondition[] =>
  end === 'Succeeded' ? conditions.filter(({ type }) => !ABOUT_VMS.some((one) => one === type)) : conditions;

/** Findings about the run, with Forklift's texts. */
function findingsOf({ end }: RunSummary): Finding[] {
  const of = (type: LiveConditionType, message: string): Finding[] => [
    { type, category: 'Advisory', durable: true, message: `The plan ${message}.` },
  ];
  switch (end) {
    case undefined:
      return of(LIVE_CONDITION.executing, 'is EXECUTING');
    case 'Succeeded':
      return of(LIVE_CONDITION.succeeded, 'execution has SUCCEEDED');
    case 'Failed':
      return of(LIVE_CONDITION.failed, 'execution has FAILED');
    case 'Canceled':
      return of(LIVE_CONDITION.canceled, 'execution has been CANCELED');
  }
}

const OF_RUNS: readonly string[] = [
  LIVE_CONDITION.executing,
  LIVE_CONDITION.succeeded,
  LIVE_CONDITION.failed,
  LIVE_CONDITION.canceled,
];

/** Replaces the conditions of the run. Those of the plan's validation stay, behind the durable ones as its check has them. */
function withFindings(
  before: readonly LiveCondition[],
  findings: readonly Finding[],
  time: string,
): LiveCondition[] {
  const isOfRun = ({ type }: LiveCondition): boolean => OF_RUNS.includes(type);
  const ofRun = before.filter(isOfRun).map((condition) => ({ ...condition, durable: false }));
  return [...nextConditions(ofRun, findings, time), ...before.filter((one) => !isOfRun(one))];
}

const snapshotOf = ({ plan, migration, refers }: About): RunSnapshot => ({
  plan: referenceTo(plan),
  migration: referenceTo(migration),
  provider: {
    source: referenceTo(refers?.source, plan.spec.provider.source),
    destination: referenceTo(refers?.destination, plan.spec.provider.destination),
  },
  map: {
    network: referenceTo(refers?.networks, plan.spec.map.network),
    storage: referenceTo(refers?.storage, plan.spec.map.storage),
  },
});

function referenceTo(object: KubernetesObject | undefined, named: NamedReference = {}): SnapshotReference {
  if (object === undefined) return named;
  const { namespace = '', name, uid, generation = 1 } = object.metadata;
  return { namespace, name, uid, generation };
}
