import { describe, expect, test } from '@jest/globals';
import {
  aReceiver,
  aRecordedRun,
  arrived,
  aRun,
  aTargetNamespace,
  aWaitingVmi,
  BEFORE_IT_BEGAN,
  migrated,
  OWN_STATE,
  recorded,
  sent,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { aPlan, aPlanMigration, aVm, itsVmi, RUN } from '../../../test/support/builders/live.ts';
import { NOW } from '../../../test/support/builders/object.ts';
import type { MigrationStatus, Plan, PlanMigration, PlanStatus, PlanVm } from '../../domain/live/forklift.ts';
import { nextConditions } from '../../domain/live/conditions.ts';
import { MOVE_EVENT_DATA } from '../../domain/live/move-events.ts';
import type { MigrationState } from '../../domain/live/kubevirt.ts';
import type { LiveReason } from '../../domain/live/names.ts';
import type { RunRecord } from '../run/record.ts';
import { hasLeftovers } from '../run/state.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { isSame } from '../../domain/same.ts';
import type { Ended, RunDecision } from '../run/decision.ts';
import { reportRun, shownVmStatus, type RunReport } from './report.ts';
import { rawText } from '../../../test/support/raw-text.ts';

const WEB: PlanVm = { name: 'web', namespace: 'vms' };
const HOOKED: PlanVm = {
  ...WEB,
  hooks: [
    { step: 'PreHook', hook: { namespace: 'tenant', name: 'hook' } },
    { step: 'PostHook', hook: { namespace: 'tenant', name: 'hook' } },
  ],
};
/** The fields of a VM by kubev2v/forklift's forklift.konveyor.io_migrations.yaml; with it installed, the API server drops the others. */
const FORKLIFT_KEEPS = [
  ...['id', 'name', 'namespace', 'newName', 'targetName', 'hooks'],
  ...['phase', 'pipeline', 'started', 'completed', 'error', 'conditions'],
];
const AT = '2026-11-21T05:00:00Z';
const OVER = 'ResourceQuota quota lacks pods=1';

const wait = (step: string, reason: LiveReason = 'TargetPending', message = 'in words'): RunDecision => ({
  kind: 'wait',
  ...{ step, reason, message },
});
const write = (step: string): RunDecision => ({ kind: 'write', step, writes: [], message: 'writing' });
const ended = (as: Ended['as'], different: Partial<Ended> = {}): RunDecision => ({
  ...{ kind: 'ended', as, reason: 'Succeeded', message: 'why', leftovers: [], recordRemoval: [] },
  ...different,
});

/** A reconcile: the decision about the only VM, so many seconds after NOW. */
interface Pass {
  readonly decision: RunDecision;
  readonly after?: number;
  /** The snapshot; null if a cluster does not answer. */
  readonly snapshot?: RunSnapshot | null;
}

/** Returns the reports of reconciles one after another, each with the statuses that the last one wrote. */
function reports(passes: readonly (Pass | RunDecision)[], entry: PlanVm = WEB): RunReport[] {
  let plan = aPlan((one) => ({ ...one, spec: { ...one.spec, vms: [entry] } }));
  let migration = aPlanMigration();
  return passes.map((given) => {
    const {
      decision,
      after = 0,
      snapshot = aRun({ hub: { now: NOW + after * 1_000 } }),
    }: Pass = 'decision' in given ? given : { decision: given };
    const report = reportRun({
      plan,
      migration,
      runs: [{ entry, snapshot: snapshot ?? undefined, decision }],
      now: NOW + after * 1_000,
    });
    plan = { ...plan, status: report.planStatus };
    migration = { ...migration, status: report.migrationStatus };
    return report;
  });
}

const last = (passes: readonly (Pass | RunDecision)[], entry?: PlanVm): RunReport => {
  const report = reports(passes, entry).at(-1);
  if (report === undefined) throw new Error('no pass');
  return report;
};

type Conditions = Pick<MigrationStatus, 'conditions'> | undefined;
const types = (status: Conditions): string => (status?.conditions ?? []).map(({ type }) => type).join(' ');

/** "Initialize 2/2, PrepareTarget 1/3 Running" */
const stages = ({ migrationStatus: { vms = [] } }: RunReport): string =>
  (vms[0]?.pipeline ?? [])
    .map(({ name, phase, progress, error }) => {
      const count = `${String(progress.completed)}/${String(progress.total)}`;
      return [name, count, ...(phase === 'Pending' ? [] : [phase]), ...(error?.reasons ?? [])].join(' ');
    })
    .join(', ');

test.each<[string, { as: Ended['as']; over: string }, string]>([
  ['over its quota', { as: 'Succeeded', over: OVER }, 'CutOver RestartWouldBeRefused Succeeded'],
  ['within its quota', { as: 'Succeeded', over: '' }, 'CutOver Succeeded'],
  ['over its quota by others, while the VM went back', { as: 'Failed', over: OVER }, 'Failed'],
])('a namespace that is %s', (_, { as, over }, wanted) => {
  const { migrationStatus } = last([{ decision: ended(as), snapshot: aRun({ target: { over } }) }]);
  expect(types(migrationStatus.vms?.[0])).toBe(wanted);
});

test.each<[string, Partial<RunRecord>, string]>([
  [
    'has arrived, and its PostHook has failed',
    { arrivedAt: AT },
    'CutOver RestartWouldBeRefused Failed 1 of 1 VMs moved; web: why',
  ],
  ['has not arrived', {}, 'Failed 0 of 1 VMs moved; web: why'],
])('a VM that is over its quota, and %s', (_what, record, wanted) => {
  const snapshot = aRecordedRun(recorded(record), { target: { over: OVER } });
  const { vms, message } = last([{ decision: ended('Failed'), snapshot }]).migrationStatus;
  expect(`${types(vms?.[0])} ${message ?? ''}`).toBe(wanted);
});

test.each<[string, Different['target'] & object, string]>([
  [
    'its guest was there: it is over its quota, and KubeVirt halts it at its next crash',
    {
      vm: aReceiver((each) => ({ ...each, spec: { ...each.spec, runStrategy: 'Always' } })),
      vmi: aWaitingVmi(
        arrived,
        migrated({
          ...{ completed: true, targetNodeDomainReadyTimestamp: AT, targetState: OWN_STATE.targetState },
          sourceState: { migrationUID: 'uid-of-sent', syncAddress: '10.8.0.1:9185' },
        } as MigrationState),
      ),
    },
    'CutOver RestartWouldBeRefused NextCrashHalts Failed',
  ],
  ['it never was there', {}, 'Failed: These stay on the target: Namespace target.'],
])('a VM whose source VM was deleted, which has failed, says what remains: %s', (_what, target, wanted) => {
  const namespace = aTargetNamespace();
  const snapshot = aRun({
    source: { vm: undefined, vmi: undefined },
    target: { over: OVER, namespace, ...target },
  });
  const [vm] = last([{ decision: ended('Failed'), snapshot }]).migrationStatus.vms ?? [];
  const [suggestion = ''] = rawText(vm?.conditions?.at(-1)?.suggestion).split(' Delete');
  expect([types(vm), suggestion].filter(Boolean).join(': ')).toBe(wanted);
});

describe('a cancel that came too late', () => {
  const end = { as: 'Canceled', reason: 'UserRequested', message: 'canceled', at: AT } as const;
  const snapshot = aRecordedRun(recorded({ end, arrivedAt: AT }));

  test('is in the condition of the VM that succeeds', () => {
    const { vms } = last([{ decision: ended('Succeeded'), snapshot }]).migrationStatus;
    expect(vms?.[0]?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Succeeded',
        message: 'The VM migration has SUCCEEDED: the cancel came too late (canceled).',
      }),
    );
  });

  test('leaves no error of a failure that came too late', () => {
    const failed = recorded({ end: { ...end, as: 'Failed' } });
    const { vms } = last([
      { decision: wait('Undo', 'Aborting'), snapshot: aRecordedRun(failed) },
      { decision: wait('PostHook', 'HookRuns'), snapshot: aRecordedRun({ ...failed, arrivedAt: AT }) },
    ]).migrationStatus;
    expect(vms?.[0]).not.toHaveProperty('error');
  });
});

describe('a VM that stays on the source', () => {
  const FAILED_STATE = itsVmi(migrated({ ...OWN_STATE, completed: true, failed: true }));
  const halted = aVm((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Halted' } }));
  const local = { sourceState: { migrationUID: 'one' }, targetState: { migrationUID: 'one' } };

  test.each<[string, Ended['as'], Partial<RunSnapshot['source']>, string]>([
    ['after a failed attempt', 'Failed', { vmi: FAILED_STATE }, 'NextCrashHalts Failed'],
    ['after a canceled one', 'Canceled', { vmi: FAILED_STATE }, 'NextCrashHalts Canceled'],
    [
      'after one that ended before it began',
      ...(['Canceled', { vmi: itsVmi(migrated(BEFORE_IT_BEGAN)) }, 'NextCrashHalts Canceled'] as const),
    ],
    [
      'while a migration of others goes on',
      'Canceled',
      { vmi: itsVmi(migrated(BEFORE_IT_BEGAN)), others: [sent('Running')] },
      'Canceled',
    ],
    ['without an attempt', 'Failed', {}, 'Failed'],
    [
      'and has migrated within its cluster since',
      ...(['Failed', { vmi: itsVmi(migrated({ ...local, completed: true })) }, 'Failed'] as const),
    ],
    ['and is halted already', 'Failed', { vmi: FAILED_STATE, vm: halted }, 'Failed'],
    ['but one that has moved', 'Succeeded', { vmi: FAILED_STATE }, 'CutOver Succeeded'],
  ])('%s', (_what, ...[as, source, wanted]) => {
    const { migrationStatus, planStatus } = last([{ decision: ended(as), snapshot: aRun({ source }) }]);
    expect(types(migrationStatus.vms?.[0])).toBe(wanted);
    expect(types(planStatus.migration?.vms?.[0])).toBe(wanted);
  });
});

test.each<[string, MigrationState, string]>([
  ['keeps both sides of the state', {}, 'CutOver NextCrashHalts Succeeded'],
  ['clears them', { sourceState: undefined, targetState: undefined } as object, 'CutOver Succeeded'],
])('a VM that has moved, by a KubeVirt that %s', (_what, state, wanted) => {
  const sides = { sourceState: { migrationUID: 'uid-of-sent', syncAddress: '10.8.0.1:9185' } };
  const vmi = aWaitingVmi(arrived, (each) => ({
    ...each,
    status: { ...each.status, migrationState: { ...each.status?.migrationState, ...sides, ...state } },
  }));
  const vm = aReceiver((each) => ({ ...each, spec: { ...each.spec, runStrategy: 'Always' } }));
  const snapshot = aRun({ target: { vm, vmi } });
  const { migrationStatus } = last([{ decision: ended('Succeeded'), snapshot }]);
  expect(types(migrationStatus.vms?.[0])).toBe(wanted);
});

describe('the pipeline of Forklift’s UI', () => {
  test.each<[string, readonly RunDecision[], string]>([
    [
      'before the run: nothing has begun',
      [wait('Validate', 'PlanNotReady')],
      'Initialize 0/2, PrepareTarget 0/3, Synchronization 0/5',
    ],
    [
      'at its first step',
      [write('Started')],
      'Initialize 1/2 Running, PrepareTarget 0/3, Synchronization 0/5',
    ],
    [
      'within a stage',
      [wait('EnsureResources')],
      'Initialize 2/2 Completed, PrepareTarget 1/3 Running, Synchronization 0/5',
    ],
    [
      'at the end of a stage',
      [wait('CreateTargetMigration')],
      'Initialize 2/2 Completed, PrepareTarget 3/3 Completed, Synchronization 0/5 Running',
    ],
    [
      'a step that is due again does not go back',
      [wait('CreateTargetMigration'), wait('CreateEmptyDataVolumes')],
      'Initialize 2/2 Completed, PrepareTarget 3/3 Completed, Synchronization 0/5 Running',
    ],
    [
      'a write to the record is where the VM was',
      [wait('EnsureResources'), write('WaitForStateTransfer')],
      'Initialize 2/2 Completed, PrepareTarget 1/3 Running, Synchronization 0/5',
    ],
    [
      'at the end',
      [wait('EnsureResources'), ended('Succeeded')],
      'Initialize 2/2 Completed, PrepareTarget 3/3 Completed, Synchronization 5/5 Completed',
    ],
    [
      'where it failed',
      [wait('EnsureResources'), ended('Failed')],
      'Initialize 2/2 Completed, PrepareTarget 1/3 Completed why, Synchronization 0/5',
    ],
    [
      'where it was canceled',
      [wait('EnsureResources'), ended('Canceled')],
      'Initialize 2/2 Completed, PrepareTarget 1/3 Completed, Synchronization 0/5',
    ],
  ])('%s', (_what, passes, wanted) => {
    expect(stages(last(passes))).toBe(wanted);
  });

  test('has stages for the hooks that there are', () => {
    expect(stages(last([wait('PostHook')], HOOKED))).toBe(
      'Initialize 2/2 Completed, PreHook 1/1 Completed, PrepareTarget 3/3 Completed, ' +
        'Synchronization 4/4 Completed, PostHook 0/2 Running',
    );
  });

  test('keeps its times', () => {
    const { migrationStatus } = last([
      { decision: wait('Started') },
      { decision: wait('EnsureResources'), after: 10 },
      { decision: wait('CreateStandbyVM'), after: 20 },
    ]);
    const [vm] = migrationStatus.vms ?? [];
    expect([migrationStatus.started, vm?.started]).toEqual([AT, AT]);
    expect(vm?.pipeline.map(({ started, completed }) => [started, completed])).toEqual([
      [AT, '2026-11-21T05:00:10Z'],
      ['2026-11-21T05:00:10Z', undefined],
      [undefined, undefined],
    ]);
  });
});

describe('what Forklift’s users see', () => {
  test.each<[string, readonly (Pass | RunDecision)[], ...string[]]>([
    ['waiting for the plan', [wait('Validate', 'PlanNotReady')], '', '', 'Blocked', 'Validate'],
    [
      'waiting for its turn',
      [wait('Validate', 'VolumesPending')],
      'Ready Running',
      'Executing',
      'Waiting',
      'Validate',
    ],
    ['running', [wait('CreateStandbyVM')], 'Ready Running', 'Executing', 'Waiting', 'CreateStandbyVM'],
    ['writing', [write('CreateStandbyVM')], 'Ready Running', 'Executing', '', 'CreateStandbyVM'],
    [
      'past its cut-over',
      [
        {
          decision: wait('WaitForStateTransfer', 'EndingSource'),
          snapshot: aRecordedRun(recorded({ marks: [{ mark: 'GuestReady', at: AT }] })),
        },
      ],
      'Ready Running',
      'Executing',
      'CutOver Waiting',
      'WaitForStateTransfer',
    ],
    [
      'succeeded',
      [wait('Completed'), ended('Succeeded')],
      'Ready Succeeded',
      'Succeeded',
      'CutOver Succeeded',
      'Completed',
    ],
    ['failed', [wait('Started'), ended('Failed')], 'Ready Failed', 'Failed', 'Failed', 'Completed'],
    ['canceled before it began', [ended('Canceled')], 'Ready Canceled', 'Canceled', 'Canceled', 'Completed'],
  ])('%s', (_what, passes, ...wanted) => {
    const { migrationStatus, planStatus } = last(passes);
    const [shown] = migrationStatus.vms ?? [];
    expect([types(migrationStatus), types(planStatus), types(shown), shown?.phase]).toEqual(wanted);
  });

  test('a plan whose run has not started is as it was, so that it can be corrected', () => {
    const { planStatus, migrationStatus } = last([wait('Validate', 'PlanNotReady', 'no map')]);
    expect(planStatus).toEqual({});
    expect(migrationStatus).toMatchObject({ progress: '0%', message: 'web: Validate: no map' });
    expect(migrationStatus).not.toHaveProperty('started');
  });

  test('where nothing is known of the clusters, the VM is where it was', () => {
    const plan = aPlan();
    const first = last([wait('CreateStandbyVM')]);
    const migration = { ...aPlanMigration(), status: first.migrationStatus };
    const runs = [{ entry: WEB, decision: wait('Validate', 'SourceGone', 'no answer') }];
    const { migrationStatus } = reportRun({ plan, migration, runs, now: NOW });
    expect(migrationStatus.vms).toMatchObject([{ phase: 'CreateStandbyVM' }]);
    expect(migrationStatus.message).toBe('web: CreateStandbyVM: no answer');
  });

  test('a VM is known by its id, or by its name', () => {
    const entry = { ...WEB, id: RUN.vm };
    const runs = [{ entry, decision: wait('Started') }];
    const { migrationStatus } = reportRun({ plan: aPlan(), migration: aPlanMigration(), runs, now: NOW });
    expect(migrationStatus.vms).toMatchObject([{ ...entry, phase: 'Started' }]);
  });

  test('the VM has id, name and namespace, as found', () => {
    expect(last([wait('Started')], { id: RUN.vm }).migrationStatus.vms).toMatchObject([
      { id: RUN.vm, name: 'web', namespace: 'vms' },
    ]);
  });

  test('plan and migration show the same VMs, and the plan’s history names the objects', () => {
    const { migrationStatus, planStatus } = last([wait('Started'), wait('EnsureResources')]);
    expect(planStatus.migration?.vms).toEqual(migrationStatus.vms);
    expect(planStatus.migration?.history).toEqual([
      {
        conditions: [expect.objectContaining({ type: 'Executing' })],
        plan: { namespace: 'tenant', name: 'plan', uid: 'uid-of-plan', generation: 1 },
        migration: { namespace: 'tenant', name: 'migration', uid: 'uid-of-migration', generation: 1 },
        provider: aPlan().spec.provider,
        map: aPlan().spec.map,
      },
    ]);
  });

  test('a VM that goes back says where it failed', () => {
    const end = { as: 'Failed', reason: 'TransferFailed', message: 'it broke', at: AT } as const;
    const { migrationStatus } = last([
      wait('CreateStandbyVM'),
      { decision: wait('Undo', 'CleaningUp'), snapshot: aRecordedRun(recorded({ end })) },
    ]);
    expect(migrationStatus.vms).toMatchObject([
      { phase: 'Undo', error: { phase: 'CreateStandbyVM', reasons: ['it broke'] } },
    ]);
  });

  test.each<[string, readonly (Pass | RunDecision)[], string, string]>([
    ['running', [wait('EnsureResources')], '30%', 'web: EnsureResources: in words'],
    ['writing', [write('EnsureResources')], '30%', 'web: EnsureResources'],
    ['succeeded', [ended('Succeeded')], '100%', '1 of 1 VMs moved'],
    [
      'failed, with something left',
      [ended('Failed', { leftovers: ['VirtualMachine target/web'] })],
      ...(['0%', '0 of 1 VMs moved; web: why; left over: VirtualMachine target/web'] as const),
    ],
    [
      'failed on its way',
      [wait('EnsureResources'), ended('Failed')],
      ...(['30%', '0 of 1 VMs moved; web: why'] as const),
    ],
    ['canceled', [wait('EnsureResources'), ended('Canceled')], '30%', '0 of 1 VMs moved'],
  ])('in one line: %s', (_what, ...[passes, progress, message]) => {
    expect(last(passes).migrationStatus).toMatchObject({ progress, message });
  });
});

describe('a VM that has ended', () => {
  const FAILED = ended('Failed', { leftovers: ['VirtualMachine target/web'] });

  test('is not reopened, and what it has left over is followed', () => {
    const [first, second, third] = reports([
      wait('CreateStandbyVM'),
      FAILED,
      { decision: wait('WaitForStateTransfer'), after: 60 },
      { decision: ended('Succeeded'), after: 120 },
    ])
      .slice(1)
      .map(({ migrationStatus, transitions }) => ({ status: migrationStatus, transitions }));
    const failed = { completed: AT, leftovers: ['VirtualMachine target/web'] };
    expect(first).toMatchObject({ status: failed });
    expect(second).toEqual({ ...first, transitions: [] });
    expect(third).toMatchObject({ status: { completed: AT } });
    expect(third?.transitions.map(({ type }) => type)).toEqual(['io.kubevirt.mtq.live.cutover']);
    expect(types(third?.status)).toBe('Ready Failed');
    expect(third?.status).not.toHaveProperty('leftovers');
    expect(third?.status.vms?.[0]?.conditions?.find(({ type }) => type === 'Failed')).not.toHaveProperty(
      'items',
    );
  });

  test('what it has left over is in a field that Forklift’s own CRD keeps', () => {
    const { migrationStatus } = last([wait('CreateStandbyVM'), FAILED]);
    const { leftovers: _, progress: _2, message: _3, outbox: _4, ...kept } = migrationStatus;
    expect(kept.vms?.map((vm) => Object.keys(vm).filter((key) => !FORKLIFT_KEEPS.includes(key)))).toEqual([
      [],
    ]);
    expect(hasLeftovers({ ...aPlanMigration(), status: kept })).toBe(true);
  });

  test('stays as it is whatever becomes of the plan', () => {
    const { planStatus, migrationStatus } = last([ended('Succeeded')]);
    const plan: Plan = { ...aPlan(), status: planStatus };
    const migration: PlanMigration = { ...aPlanMigration(), status: migrationStatus };
    const changed = { ...plan, spec: { ...plan.spec, vms: [{ name: 'other', namespace: 'vms' }] } };
    expect(reportRun({ plan: changed, migration, runs: [], now: NOW + 60_000 }).migrationStatus.vms).toEqual(
      migrationStatus.vms,
    );
  });
});

test.each<[string, readonly RunDecision[]]>([
  ['waiting for the plan', [wait('Validate', 'PlanNotReady')]],
  ['running', [wait('CreateStandbyVM')]],
  ['writing', [write('CreateStandbyVM')]],
  ['ended', [wait('CreateStandbyVM'), ended('Failed', { leftovers: ['x'] })]],
])('the same again writes and posts nothing: %s', (_what, passes) => {
  const again = passes.slice(-1).map((decision) => ({ decision, after: 30 }));
  const [first, second] = reports([...passes, ...again]).slice(-2);
  expect(isSame(second?.migrationStatus, first?.migrationStatus)).toBe(true);
  expect(isSame(second?.planStatus, first?.planStatus)).toBe(true);
  expect(second?.transitions).toEqual([]);
});

describe('several VMs', () => {
  const DB: PlanVm = { name: 'db', namespace: 'vms' };
  const both = aPlan((one) => ({ ...one, spec: { ...one.spec, vms: [WEB, DB] } }));
  const decide = (
    web: RunDecision,
    db: RunDecision,
    { migration = aPlanMigration(), plan = both } = {},
  ): RunReport =>
    reportRun({
      ...{ plan, migration, now: NOW },
      runs: [
        { entry: WEB, decision: web },
        { entry: DB, decision: db },
      ],
    });

  test.each<[string, RunDecision, RunDecision, string]>([
    ['one has ended, and one has not', ended('Failed'), wait('Started'), 'Ready Running'],
    ['one failed', ended('Failed'), ended('Succeeded'), 'Ready Failed'],
    ['one was canceled', ended('Canceled'), ended('Succeeded'), 'Ready Succeeded'],
    ['all were canceled', ended('Canceled'), ended('Canceled'), 'Ready Canceled'],
  ])('%s', (_what, ...[web, db, wanted]) => {
    expect(types(decide(web, db).migrationStatus)).toBe(wanted);
  });

  test('the line is about the one that is blocked', () => {
    const { migrationStatus } = decide(
      wait('Started'),
      wait('CreateTargetMigration', 'OverQuota', 'no room'),
    );
    expect(migrationStatus).toMatchObject({ progress: '30%', message: 'db: CreateTargetMigration: no room' });
  });

  test('one that is not decided stays as it is shown', () => {
    const { migrationStatus: status } = decide(wait('CreateStandbyVM'), wait('Started'));
    const migration = { ...aPlanMigration(), status };
    const next = reportRun({ plan: both, migration, runs: [], now: NOW });
    expect(isSame(next.migrationStatus, status)).toBe(true);
  });

  test('a second run keeps those that the first one has moved', () => {
    const first = decide(ended('Succeeded'), ended('Failed'));
    const plan = { ...both, status: first.planStatus };
    const migration = aPlanMigration((one) => ({ ...one, metadata: { ...one.metadata, uid: 'second' } }));
    expect(shownVmStatus(plan, migration, WEB)).toMatchObject({ phase: 'Completed' });
    expect(shownVmStatus(plan, migration, DB)).toBeUndefined();
    const runs = [{ entry: DB, decision: wait('Validate', 'PlanNotReady') }];
    const waiting = reportRun({ plan, migration, runs, now: NOW });
    expect(waiting.migrationStatus).not.toHaveProperty('started');
    expect(waiting.planStatus).toBe(first.planStatus);
    const second = decide(ended('Failed'), wait('Started'), { migration, plan });
    expect(types(second.planStatus)).toBe('Executing');
    expect(second.migrationStatus.vms?.[0]).toEqual(first.migrationStatus.vms?.[0]);
    expect(second.planStatus.migration?.history).toHaveLength(2);
    const old = { ...aPlanMigration(), status: first.migrationStatus };
    const late = decide(ended('Failed'), ended('Failed'), {
      migration: old,
      plan: { ...plan, status: second.planStatus },
    });
    expect(late.planStatus).toEqual(second.planStatus);
  });

  test('the plan’s other conditions stay, in the order in which its check has them', () => {
    const ready = { type: 'Ready', status: 'True', category: 'Required', lastTransitionTime: AT } as const;
    const status: PlanStatus = { observedGeneration: 3, conditions: [ready] };
    const report = decide(wait('Started'), wait('Started'), { plan: { ...both, status } });
    expect(report.planStatus).toMatchObject({
      observedGeneration: 3,
      conditions: [{ type: 'Executing' }, ready],
    });
    // Otherwise the run and the check would both write the plan in each reconcile.
    const { conditions = [] } = report.planStatus;
    const checked = nextConditions(
      conditions,
      [{ type: 'Ready', category: 'Required', message: 'it is' }],
      AT,
    );
    expect(checked.map(({ type }) => type)).toEqual(conditions.map(({ type }) => type));
  });

  test.each<[string, PlanVm, string]>([
    ['its name', { name: 'no', namespace: 'vms' }, 'vms/no'],
    ['its name alone', { name: 'no' }, 'no'],
    ['its id alone', { id: 'u' }, 'id u'],
    ['an id that is not found, and a name that is', { id: 'old', ...WEB }, 'vms/web with id old'],
  ])('a cancel of no VM of the plan is a warning, with %s', (_what, reference, shown) => {
    const migration = aPlanMigration((one) => ({
      ...one,
      spec: { ...one.spec, cancel: [WEB, { name: 'web' }, reference] },
    }));
    const run = { entry: { ...WEB, id: 'new' }, decision: wait('Started') };
    const { conditions } = reportRun({ plan: aPlan(), migration, runs: [run], now: NOW }).migrationStatus;
    expect(conditions).toContainEqual(
      expect.objectContaining({ type: 'VMNotFound', category: 'Warn', items: [shown] }),
    );
  });

  test('a cancel that two VMs of the run fit is a warning', () => {
    const twin = { name: 'web', namespace: 'other' };
    const plan = aPlan((one) => ({ ...one, spec: { ...one.spec, vms: [WEB, twin] } }));
    const migration = aPlanMigration((one) => ({
      ...one,
      spec: { ...one.spec, cancel: [WEB, { name: 'web' }] },
    }));
    const runs = [WEB, twin].map((entry) => ({ entry, decision: wait('Started') }));
    const { conditions = [] } = reportRun({ plan, migration, runs, now: NOW }).migrationStatus;
    expect(conditions.filter(({ category }) => category === 'Warn')).toEqual([
      expect.objectContaining({
        ...{ type: 'VMNotUnique', reason: 'Ambiguous', items: ['web'] },
        message: 'VM reference is ambiguous.',
      }),
    ]);
  });
});

test.each<[Ended['as'], string]>([
  ['Succeeded', 'Succeeded Ready'],
  ['Failed', 'Failed Ready NextCrashHalts OverQuota'],
])('what a plan says of its VMs, once its run has %s', (as, wanted) => {
  const conditions = ['Ready', 'NextCrashHalts', 'OverQuota'].map((type) => ({
    ...({ type, status: 'True', category: 'Warn', lastTransitionTime: '' } as const),
  }));
  const plan = { ...aPlan((one) => ({ ...one, spec: { ...one.spec, vms: [WEB] } })), status: { conditions } };
  const runs = [{ entry: WEB, snapshot: aRun(), decision: ended(as) }];
  const { planStatus } = reportRun({ plan, migration: aPlanMigration(), runs, now: NOW });
  expect(types(planStatus)).toBe(wanted);
});

describe('since when a VM waits', () => {
  const waits = (passes: readonly Pass[]): string[] =>
    (last(passes).migrationStatus.vms?.[0]?.conditions ?? []).map(({ type, reason, lastTransitionTime }) =>
      [type, rawText(reason), lastTransitionTime.slice(11, 19)].join(' '),
    );
  const first: Pass = { decision: wait('CreateSourceMigration', 'SourceEvacuating') };
  const waiting: Pass = { decision: wait('Validate', 'WaitingToStart'), snapshot: null };
  const unknown: Pass = { decision: wait('Validate', 'ClusterUnknown'), after: 30, snapshot: null };

  test.each<[string, readonly Pass[], string[]]>([
    ['at first', [first], ['Waiting SourceEvacuating 05:00:00']],
    ['blocked by then', [first, { ...first, after: 60 }], ['Blocked SourceEvacuating 05:00:00']],
    [
      'while a cluster does not answer',
      [first, unknown],
      ['Waiting ClusterUnknown 05:00:30', 'Waiting SourceEvacuating 05:00:00'],
    ],
    [
      'while it answers nothing again',
      [first, unknown, { ...unknown, after: 35 }],
      ['Waiting ClusterUnknown 05:00:30', 'Waiting SourceEvacuating 05:00:00'],
    ],
    ['afterwards', [first, unknown, { ...first, after: 40 }], ['Waiting SourceEvacuating 05:00:00']],
    [
      'for its turn to begin, which is no reading either',
      [waiting, { ...waiting, after: 10 }, { ...waiting, after: 20 }],
      ['Waiting WaitingToStart 05:00:00'],
    ],
    [
      'for a write that was refused, before a cluster did not answer',
      [{ decision: wait('Started', 'Refused') }, unknown],
      ['Waiting ClusterUnknown 05:00:30', 'Waiting Refused 05:00:00'],
    ],
    [
      'for something else',
      [first, { decision: wait('CreateSourceMigration', 'InTurn'), after: 40 }],
      ['Waiting InTurn 05:00:40'],
    ],
    [
      'by the API server’s clock, which is another one than the pod’s',
      [{ ...first, after: 300, snapshot: aRun({ hub: { now: NOW } }) }],
      ['Waiting SourceEvacuating 05:00:00'],
    ],
  ])('%s', (_what, passes, wanted) => {
    expect(waits(passes)).toEqual(wanted);
  });
});

describe('a VM that waits', () => {
  const LET_IN = { ...wait('WaitForStateTransfer', 'OverQuota'), endsItself: true };
  const TYPE = (passes: readonly Pass[]): string => types(last(passes).migrationStatus.vms?.[0]);

  test.each<[string, readonly Pass[], string]>([
    ['for its launcher', [{ decision: wait('WaitForStateTransfer') }], 'Waiting'],
    [
      'for its launcher, for a minute',
      [{ decision: wait('WaitForStateTransfer') }, { decision: wait('WaitForStateTransfer'), after: 60 }],
      'Blocked',
    ],
    [
      'for its launcher, after something else',
      [
        { decision: wait('WaitForStateTransfer', 'Synchronizing') },
        { decision: wait('WaitForStateTransfer'), after: 60 },
      ],
      'Waiting',
    ],
    [
      'for its guest, for an hour',
      [
        { decision: wait('WaitForStateTransfer', 'Transferring') },
        { decision: wait('WaitForStateTransfer', 'Transferring'), after: 3_600 },
      ],
      'Waiting',
    ],
    ['for room in a quota', [{ decision: wait('CreateSourceMigration', 'OverQuota') }], 'Blocked'],
    ['for room that a VMMRQ gives', [{ decision: LET_IN }], 'Waiting'],
    ['for that, for a minute', [{ decision: LET_IN }, { decision: LET_IN, after: 60 }], 'Blocked'],
  ])('%s', (_what, passes, wanted) => {
    expect(TYPE(passes)).toBe(wanted);
  });

  test.each<[LiveReason, string]>([
    ['OverQuota', 'Warn'],
    ['SourceSetBack', 'Warn'],
    ['SourceStartedAgain', 'Critical'],
  ])('by nothing that comes by itself, %s: %s', (reason, category) => {
    const { conditions } = last([wait('CreateSourceMigration', reason)]).migrationStatus.vms?.[0] ?? {};
    expect(conditions).toMatchObject([{ type: 'Blocked', category, reason }]);
  });
});

describe('events', () => {
  const posted = (passes: readonly (Pass | RunDecision)[]): string[] =>
    reports(passes).flatMap(({ transitions }) =>
      transitions.map(({ type, data }) => `${type.replace('io.kubevirt.mtq.live.', '')} ${data.step}`),
    );
  const PAST = aRecordedRun(recorded({ marks: [{ mark: 'GuestReady', at: AT }] }));
  const FAILED = { as: 'Failed', reason: 'TransferFailed', message: 'it broke', at: AT } as const;

  test('of a run, each once', () => {
    expect(
      posted([
        wait('Validate', 'PlanNotReady'),
        write('Started'),
        write('CreateEmptyDataVolumes'),
        wait('CreateEmptyDataVolumes'),
        wait('CreateSourceMigration', 'OverQuota'),
        wait('CreateSourceMigration', 'OverQuota'),
        wait('CreateEmptyDataVolumes'),
        wait('WaitForStateTransfer', 'Transferring'),
        { decision: write('WaitForStateTransfer'), snapshot: PAST },
        { decision: wait('Completed', 'CleaningUp'), snapshot: PAST },
        { decision: ended('Succeeded'), snapshot: PAST },
        { decision: ended('Succeeded'), snapshot: PAST },
      ]),
    ).toEqual([
      'blocked Validate',
      'started Started',
      'step Started',
      'step CreateEmptyDataVolumes',
      'step CreateSourceMigration',
      'blocked CreateSourceMigration',
      'step WaitForStateTransfer',
      'cutover WaitForStateTransfer',
      'step Completed',
      'succeeded Completed',
    ]);
  });

  test('of one that fails and goes back', () => {
    const snapshot = aRecordedRun(recorded({ end: FAILED }));
    expect(
      posted([
        wait('CreateStandbyVM'),
        { decision: write('Undo'), snapshot },
        { decision: wait('Undo', 'CleaningUp'), snapshot },
        ended('Failed'),
      ]),
    ).toEqual(['started CreateStandbyVM', 'step CreateStandbyVM', 'step Undo', 'failed Completed']);
  });

  test('are found again with the same ids when the status was not written', () => {
    const [first, second] = [0, 5].map((after) => reports([{ decision: wait('CreateStandbyVM'), after }])[0]);
    const ids = (report: RunReport | undefined): string[] => (report?.transitions ?? []).map(({ id }) => id);
    expect(ids(first)).toEqual([
      `uid-of-migration/${RUN.vm}/started`,
      `uid-of-migration/${RUN.vm}/step/CreateStandbyVM`,
    ]);
    expect(ids(second)).toEqual(ids(first));
  });

  test('say what happens, by their schema', () => {
    const { transitions } = last([wait('CreateStandbyVM'), ended('Failed', { reason: 'TransferFailed' })]);
    const [failed] = transitions;
    expect(failed).toEqual({
      id: `uid-of-migration/${RUN.vm}/failed`,
      type: 'io.kubevirt.mtq.live.failed',
      time: AT,
      subject: 'tenant/migration/web',
      data: {
        plan: { namespace: 'tenant', name: 'plan' },
        migration: { namespace: 'tenant', name: 'migration', uid: 'uid-of-migration' },
        vm: { id: RUN.vm, namespace: 'vms', name: 'web' },
        target: { namespace: 'target', name: 'web' },
        step: 'Completed',
        reason: 'TransferFailed',
        message: 'why',
        percent: 40,
        left: 0,
      },
    });
    for (const { type, data } of transitions)
      expect(MOVE_EVENT_DATA.get(type)?.safeParse(data)).toMatchObject({ success: true });
  });
});
