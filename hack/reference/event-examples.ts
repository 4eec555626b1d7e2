import { aQuota } from '../../test/support/builders/quota.ts';
import {
  arrived,
  aReceiver,
  aRecordedRun,
  aRun,
  aWaitingVmi,
  firstAttempt,
  recorded,
} from '../../test/support/builders/live-run.ts';
import { aPlan, aPlanMigration, aVm, RUN } from '../../test/support/builders/live.ts';
import { aDrain, anUpgrade, aProgress, bucket, but, NODE } from '../../test/support/builders/maintenance.ts';
import { NOW, seconds } from '../../test/support/builders/object.ts';
import { aSnapshot, aVmmrq, giving, RULES } from '../../test/support/builders/snapshot.ts';
import type { OurEvent } from '../../functions/domain/events.ts';
import { FORKLIFT_KIND, LIVE_EVENT } from '../../functions/domain/live/names.ts';
import { EVENT, REASON } from '../../functions/domain/names.ts';
import type { Maintenance } from '../../functions/domain/progress/maintenance.ts';
import { MAINTENANCE_CHANGED } from '../../functions/domain/progress/names.ts';
import type { MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';
import type { NamespaceSnapshot } from '../../functions/domain/snapshot.ts';
import { assess } from '../../functions/domain/verdict/assessment.ts';
import { cloudEventOf } from '../../functions/eventing/cloud-events.ts';
import { liveEvent, resyncEventOf } from '../../functions/eventing/live-events.ts';
import { decide as decideFeasibility } from '../../functions/feasibility/decide.ts';
import type { RunSnapshot } from '../../functions/live/run/snapshot.ts';
import { reportRun } from '../../functions/live/status/report.ts';
import { decide as decideMove } from '../../functions/live/steps/decide.ts';
import { nextStatus } from '../../functions/progress/next-status.ts';
import { expiredEvent, migrationEndedEvent, stalledEvent } from '../../webhook/watchdog/watched-lock.ts';

export type ExampleEvent = ReturnType<typeof cloudEventOf>;

/**
 * Returns an example of each event that this project sends, by type. `progress`, `live`, `feasibility` and the guard make theirs from a
 * small case. What the other steps send about a lock is written here, and compared with what they send in simulated runs
 * (test/contract/event-examples.test.ts).
 */
export function eventExamples(): ReadonlyMap<string, ExampleEvent> {
  const events = [...maintenanceEvents(), ...moveEvents(), ...lockEvents(), ...liveEvents()];
  // The first one of each type: later cases begin like earlier ones.
  return new Map(events.toReversed().map((event) => [event.type, event]));
}

/** An event without a time of its own gets that at which it is made: another one in each run. */
const atNow = (event: ExampleEvent): ExampleEvent => event.cloneWith({ time: seconds(0) });

const TEN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
const SEVEN = TEN.slice(3);
const byQuota = but({
  blockedBy: { Quota: 1 },
  buckets: [
    { ...bucket('running', 6) },
    {
      ...{ name: 'blocked', count: 1 },
      vms: [
        {
          ...{ namespace: 'tenant', name: 'web', reason: REASON.notEnough },
          quotas: [{ name: 'compute', missing: { 'requests.cpu': '500m' } }],
        },
      ],
    },
  ],
});
const KUBEVIRT = { name: 'kubevirt', namespace: 'kubevirt', uid: 'uid-of-kubevirt', observed: 'new' };

/** Events of a drain and an upgrade of ten VMs, a minute between two looks, and of others that end differently. */
function maintenanceEvents(): ExampleEvent[] {
  const drain = aProgress('Drain');
  const upgrade = aProgress('Upgrade');
  const updated = anUpgrade([], but({ isSettled: true }));
  const cases: readonly [MaintenanceProgress, readonly Maintenance[]][] = [
    [drain, [aDrain(TEN), aDrain(SEVEN), aDrain(SEVEN, byQuota), aDrain(SEVEN), aDrain([])]],
    [drain, [aDrain(TEN), aDrain(SEVEN, but({ node: { ...NODE, isDraining: false } }))]],
    [drain, [aDrain(TEN), aDrain(SEVEN, but({ node: { name: NODE.name, isDraining: false } }))]],
    [upgrade, [anUpgrade(TEN), anUpgrade(SEVEN), anUpgrade(SEVEN, byQuota), anUpgrade(SEVEN), updated]],
    [upgrade, [anUpgrade(TEN), anUpgrade(SEVEN, but({ kubevirt: { ...KUBEVIRT, target: 'newer' } }))]],
    [upgrade, [anUpgrade(TEN), anUpgrade(SEVEN, but({ kubevirt: undefined }))]],
  ];
  return cases.flatMap(([object, looks]) => {
    const last = looks.reduce<MaintenanceProgress>(
      (current, seen, minute) => ({ ...current, status: nextStatus(current, seen, NOW + minute * 60_000) }),
      object,
    );
    return last.status?.outbox.map(cloudEventOf) ?? [];
  });
}

const RECEIVER = aReceiver((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Always' } }));
const THERE = { vm: RECEIVER, vmi: aWaitingVmi(arrived) };
const PAST_CUT_OVER = { marks: [{ mark: 'GuestReady', at: seconds(0) } as const], arrivedAt: seconds(0) };
const FAILED = { as: 'Failed', reason: 'TransferFailed', at: seconds(0), proved: true } as const;
const CANCELED = { ...FAILED, as: 'Canceled', reason: 'UserRequested' } as const;

/** Events of runs that move the VM `web`, each of its first look. */
function moveEvents(): ExampleEvent[] {
  const vm = aVm((one) => ({ ...one, spec: { ...one.spec, runStrategy: 'Halted' } }));
  const off = { vm, vmi: undefined, pods: [] };
  const runs: readonly RunSnapshot[] = [
    aRun(),
    aRun({ hub: { blockers: ['the storage map lacks the storage class fast'] } }),
    firstAttempt({ target: THERE }, PAST_CUT_OVER),
    firstAttempt({ source: off, target: { ...THERE, vmims: [] } }, { ...PAST_CUT_OVER, halted: true }),
    aRecordedRun(recorded({ end: { ...FAILED, message: 'the transfer failed: connection refused' } })),
    aRecordedRun(recorded({ end: { ...CANCELED, message: 'the migration has been canceled' } })),
  ];
  return runs.flatMap((snapshot) => {
    const { transitions } = reportRun({
      ...{ plan: aPlan(), migration: aPlanMigration(), now: NOW },
      runs: [{ entry: snapshot.hub.entry, snapshot, decision: decideMove(snapshot) }],
    });
    return transitions.map(cloudEventOf);
  });
}

const NAMESPACE = 'tenant';
const TOKEN = '0d9d1d0c-6a2f-4b0c-9d51-3f8f6f0a7c11';
const about = { namespace: NAMESPACE, token: TOKEN };
const migrations = [{ name: 'mig0', uid: 'uid-of-mig0' }];
const [quotas, vmmrqs, vmis] = [['quota'], ['vmmrq'], ['vm0']];

/** The message of functions/lower/decide-seen.ts. */
const ADMITTED = 'every migration of the lock got its pod';

/** Events of a cycle, and of what goes wrong in one. */
function lockEvents(): ExampleEvent[] {
  const events: readonly OurEvent[] = [
    ...feasible({}),
    ...feasible({ vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1m' }))] }),
    {
      type: EVENT.quotaUntried,
      from: 'lock',
      namespace: NAMESPACE,
      cause: '5f8d',
      migrations,
      quotas,
      vmmrqs,
      vmis,
    },
    { type: EVENT.namespaceLocked, from: 'lock', ...about, migrations, quotas, vmmrqs },
    { type: EVENT.quotaRaised, from: 'raise', ...about, quotas },
    {
      type: EVENT.quotaUndone,
      from: 'lower',
      cause: aQuota().metadata.resourceVersion,
      ...about,
      quotas,
      vmmrqs,
    },
    { type: EVENT.quotaLowered, from: 'lower', ...about, reason: REASON.admitted, message: ADMITTED },
    { type: EVENT.namespaceUnlocked, from: 'unlock', ...about, migrations, reason: REASON.admitted },
    { type: EVENT.resyncRequested, from: 'guard', namespace: NAMESPACE, cause: '17' },
    expiredEvent(NAMESPACE, TOKEN, ''),
    migrationEndedEvent(NAMESPACE, TOKEN, 'uid-of-mig0'),
    stalledEvent(NAMESPACE, TOKEN),
  ];
  const changed = { type: MAINTENANCE_CHANGED, from: 'guard', cause: '17' } as const;
  const drain = cloudEventOf({ ...changed, maintenance: { kind: 'Drain', node: NODE.name } });
  return [...events.map(cloudEventOf), drain].map(atNow);
}

function feasible(different: Partial<NamespaceSnapshot>): OurEvent[] {
  const snapshot = aSnapshot(different);
  const { reply } = decideFeasibility(snapshot, assess(snapshot, RULES));
  return reply === undefined ? [] : [reply];
}

/** Events that start `live`. */
function liveEvents(): ExampleEvent[] {
  const migration = { kind: FORKLIFT_KIND.migration.kind, namespace: NAMESPACE, name: 'migration' };
  return [
    liveEvent({ type: LIVE_EVENT.progressed, from: 'live', about: migration, cause: RUN.migration }),
    resyncEventOf(migration, 17),
  ].map(atNow);
}
