import { describe, expect, test } from '@jest/globals';
import { aLauncher, aMigration, aVmi, ofVm, withCondition } from '../../test/support/builders/kubevirt.ts';
import {
  aLock,
  anExpiredLock,
  aNamespace,
  lockedBy,
  lockedUnreadably,
} from '../../test/support/builders/namespace.ts';
import { annotated, atVersion, beingDeleted, named, NOW } from '../../test/support/builders/object.ts';
import { aFailure, forbidden } from '../../test/support/builders/pod-rejection.ts';
import { aGrant, aQuota, hard, holding, uncounted } from '../../test/support/builders/quota.ts';
import { aSnapshot, aView, aVmmrq, giving, RULES } from '../../test/support/builders/snapshot.ts';
import { assess } from '../domain/verdict/assessment.ts';
import type { OurEvent } from '../domain/events.ts';
import { ANNOTATION, EVENT, REASON } from '../domain/names.ts';
import type { Namespace, Vmmrq } from '../domain/objects.ts';
import { statusReport } from '../domain/verdict/report.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { decide, type FeasibilityDecision } from './decide.ts';

const decided = (different: Partial<NamespaceSnapshot> = {}): FeasibilityDecision => {
  const snapshot = aSnapshot(different);
  return decide(snapshot, assess(snapshot, RULES));
};

const WITH_HEADROOM = hard({ pods: '10', 'requests.cpu': '9', 'requests.memory': '9Gi' });
const TOO_LITTLE = [aVmmrq(giving({ 'requests.cpu': '1m', 'requests.memory': '2Gi' }))];
/** mig0 fits with a raise; mig1 does not: its VM is larger than the allowance. */
const MIXED: Partial<NamespaceSnapshot> = {
  migrations: [aMigration(), aMigration(named('mig1'), ofVm('vm1'))],
  pods: [aLauncher()],
  vmis: new Map([
    ['vm0', aVmi()],
    ['vm1', aVmi('vm1')],
  ]),
};

describe('nothing to say', () => {
  test.each<[string, Partial<NamespaceSnapshot>]>([
    ['no migration', { migrations: [] }],
    ['the VM is gone', { vmis: new Map() }],
  ])('%s: no event, no nudge, no report but the status', (_, different) => {
    const { reply, nudges, events, reason } = decided(different);
    expect([reply, nudges, events, reason]).toEqual([undefined, [], [], REASON.nothingBlocked]);
  });
});

describe('the reply', () => {
  test('a migration that fits with a raise goes to `lock`, and the namespace’s version makes the event unique', () => {
    expect(decided({ namespace: aNamespace(atVersion('77')) }).reply).toEqual({
      type: EVENT.migrationFeasible,
      from: 'feasibility',
      namespace: 'tenant',
      cause: '77',
      migrations: [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0' }],
      vmis: ['vm0'],
    });
  });

  test('one event for mixed verdicts: the feasible migrations', () => {
    const { reply, message } = decided(MIXED);
    expect(reply).toMatchObject({ type: EVENT.migrationFeasible, migrations: [{ name: 'mig0' }] });
    expect(message).toContain('mig1: Waiting');
  });

  test.each<[string, Partial<NamespaceSnapshot>, string]>([
    ['not enough', { vmmrqs: TOO_LITTLE }, REASON.notEnough],
    ['no VMMRQ', { vmmrqs: [] }, REASON.noVmmrq],
    ['unsupported', { quotas: [aQuota(annotated(ANNOTATION.skip, 'true'))] }, REASON.skipped],
    ['a namespace on its way out', { namespace: aNamespace(beingDeleted()) }, REASON.namespaceTerminating],
  ])('%s: infeasible, with the reason', (_, different, reason) => {
    const { reply } = decided(different);
    expect(reply).toMatchObject({
      type: EVENT.migrationInfeasible,
      migrations: [{ name: 'mig0', uid: 'uid-of-mig0' }],
      reason,
    });
    expect(reply?.message).not.toBe('');
  });

  test.each<[string, Namespace, Partial<OurEvent>]>([
    ['past its time', aNamespace(lockedBy(anExpiredLock())), { token: anExpiredLock().token }],
    ['unreadable', aNamespace(lockedUnreadably('{'), atVersion('78')), { cause: '78' }],
  ])('a lock that is %s blocks: it is repaired', (_, namespace, want) => {
    const { reply } = decided({ namespace });
    expect(reply).toMatchObject({ type: EVENT.lockExpired, ...want });
    // No migration is blocked, so none waits for the repair: the watchdog does it.
    expect(decided({ namespace, migrations: [] }).reply).toBeUndefined();
  });

  test('so is a grant without a lock', () => {
    const left = decided({ quotas: [aQuota(holding(aGrant()))] });
    expect(left.reply).toMatchObject({ type: EVENT.lockExpired, namespace: 'tenant' });
  });

  test.each<[string, Partial<NamespaceSnapshot>]>([
    ['there is headroom', { quotas: [aQuota(WITH_HEADROOM)] }],
    ['the namespace is locked', { namespace: aNamespace(lockedBy(aLock())) }],
    ['the quota is not counted yet', { quotas: [aQuota(uncounted())] }],
    ['KubeVirt’s limits', { view: aView({ left: { cluster: 0, node: 0, nodes: {} } }) }],
  ])('%s: it waits, and no step runs', (_, different) => {
    expect(decided(different).reply).toBeUndefined();
  });
});

/** What may refuse a target besides a quota's amounts; KubeVirt sets no condition then. */
const OTHER_REFUSALS = [
  'admission webhook "a.example.com" denied the request: no',
  forbidden('failed quota: quota: must specify requests.cpu for: istio-proxy'),
  forbidden('violates PodSecurity "restricted:latest": x'),
];

describe('nudges', () => {
  const withHeadroom = (...changes: Parameters<typeof aQuota>): Partial<NamespaceSnapshot> => ({
    quotas: [aQuota(WITH_HEADROOM, ...changes)],
  });
  const valueOf = (different: Partial<NamespaceSnapshot>): string =>
    decided(different).nudges[0]?.value ?? '';

  test('there is headroom: once for this state of the quotas', () => {
    const { nudges } = decided(withHeadroom());
    expect(nudges.map(({ migration }) => migration.metadata.name)).toEqual(['mig0']);
    const nudged = aMigration(annotated(ANNOTATION.nudged, valueOf(withHeadroom())));
    expect(decided({ ...withHeadroom(), migrations: [nudged] }).nudges).toEqual([]);
    expect(decided({ ...withHeadroom(atVersion('101')), migrations: [nudged] }).nudges).toHaveLength(1);
  });

  test('something else refused its pod: once in five minutes, because what did so may be gone', () => {
    const refused = { events: [aFailure('admission webhook "a.example.com" denied the request: no')] };
    const nudged = aMigration(annotated(ANNOTATION.nudged, valueOf(refused)));
    expect(valueOf(refused)).toMatch(/^headroom \S+ \d{4}-\S+Z$/);
    expect(decided({ ...refused, migrations: [nudged] }).nudges).toEqual([]);
    expect(decided({ ...refused, migrations: [nudged], now: NOW - 60_000 }).nudges).toEqual([]);
    expect(decided({ ...refused, migrations: [nudged], now: NOW + 299_999 }).nudges).toEqual([]);
    expect(decided({ ...refused, migrations: [nudged], now: NOW + 300_000 }).nudges).toHaveLength(1);
  });

  test.each<[string, Partial<NamespaceSnapshot>]>([
    ['the incumbent is there', { view: aView({ incumbent: 'remove it' }) }],
    ['the guard does not answer, and the incumbent is there', { view: undefined, incumbent: 'remove it' }],
    ['the namespace opts out', { namespace: aNamespace(annotated(ANNOTATION.skip, 'true')) }],
    ['the namespace is being deleted', { namespace: aNamespace(beingDeleted()) }],
    ['the namespace is of the cluster', { namespace: aNamespace(named('kube-system')) }],
  ])('%s: none, whatever refused its pod', (_, different) => {
    const refused = aMigration(withCondition());
    for (const text of OTHER_REFUSALS) {
      const { nudges, events } = decided({ migrations: [refused], events: [aFailure(text)], ...different });
      expect([nudges, events.length]).toEqual([[], 1]);
    }
    for (const text of OTHER_REFUSALS)
      expect(decided({ migrations: [refused], events: [aFailure(text)] }).nudges).toHaveLength(1);
  });

  test('the order of the quotas does not matter', () => {
    const two = [aQuota(WITH_HEADROOM), aQuota(named('other'), WITH_HEADROOM)];
    expect(valueOf({ quotas: two })).toBe(valueOf({ quotas: two.toReversed() }));
  });

  test.each<[string, Partial<NamespaceSnapshot>]>([
    ['it fits with a raise', {}],
    ['not enough', { vmmrqs: TOO_LITTLE }],
    ['it waits', { quotas: [aQuota(uncounted())] }],
  ])('%s: none', (_, different) => {
    expect(decided(different).nudges).toEqual([]);
  });
});

describe('Events', () => {
  const verdictsOf = (different: Partial<NamespaceSnapshot>): string[] =>
    decided(different).events.map(({ on, type, reason }) => `${type} ${reason} on ${on.kind} ${on.name}`);
  const MIGRATION = 'VirtualMachineInstanceMigration mig0';

  test.each<[string, Partial<NamespaceSnapshot>, string[]]>([
    ['it fits with a raise: what comes of it speaks for itself', {}, []],
    ['it waits', { quotas: [aQuota(uncounted())] }, [`Warning MigrationBlocked on ${MIGRATION}`]],
    [
      'no VMMRQ: on the VMI too, where KubeVirt’s own Event is',
      { vmmrqs: [] },
      [`Warning QuotaNotEnough on ${MIGRATION}`, 'Warning QuotaNotEnough on VirtualMachineInstance vm0'],
    ],
    [
      'not enough: on the VMI too, and not on VMMRQs, which have conditions',
      { vmmrqs: [...TOO_LITTLE, aVmmrq(named('more'), giving({}))] },
      [`Warning QuotaNotEnough on ${MIGRATION}`, 'Warning QuotaNotEnough on VirtualMachineInstance vm0'],
    ],
    ['there is headroom: it is nudged, without a report', { quotas: [aQuota(WITH_HEADROOM)] }, []],
    ['it is in hand: the lock', { namespace: aNamespace(lockedBy(aLock())) }, []],
    ['it is in hand: the repair', { quotas: [aQuota(holding(aGrant()))] }, []],
  ])('%s', (_, different, want) => {
    expect(verdictsOf(different)).toEqual(want);
  });

  test('name the resource, the amount and a remedy', () => {
    const [event] = decided({ vmmrqs: TOO_LITTLE }).events;
    expect(event?.message).toMatch(
      /^ResourceQuota quota lacks requests\.cpu=605m.*gives requests\.cpu=1m, which is 604m too little/,
    );
  });

  test('that on the migration carries the verdict for the guard', () => {
    const [onMigration, ...others] = decided({ vmmrqs: TOO_LITTLE }).events.map(({ verdict }) => verdict);
    expect(JSON.parse(onMigration ?? '')).toMatchObject({
      reason: REASON.notEnough,
      quotas: [{ name: 'quota', missing: { 'requests.cpu': '605m' } }],
    });
    expect(new Set(others)).toEqual(new Set([undefined]));
  });

  test('are written once for each migration and state: the key is the same', () => {
    const keys = (different: Partial<NamespaceSnapshot>): string[] => [
      ...new Set(decided(different).events.map(({ key }) => key)),
    ];
    expect(keys({ namespace: aNamespace(atVersion('5')) })).toEqual(keys({}));
    expect(keys({ vmmrqs: TOO_LITTLE })).not.toEqual(keys({}));
    const evenLess = [aVmmrq(giving({ 'requests.memory': '2Gi' }))];
    // Amounts change with each pod of the namespace: the Event is updated.
    expect(keys({ vmmrqs: TOO_LITTLE })).toEqual(keys({ vmmrqs: evenLess }));
    expect(decided({ vmmrqs: TOO_LITTLE }).events.map(({ isUpdated }) => isUpdated)).toEqual([true, true]);
  });
});

test('a VMMRQ’s status reports the snapshot (F7)', () => {
  const snapshot = aSnapshot({ vmmrqs: TOO_LITTLE });
  const assessment = assess(snapshot, RULES);
  const vmmrq = aVmmrq();
  expect(decide(snapshot, assessment).statusOf(vmmrq)).toEqual(
    statusReport(vmmrq, snapshot, assessment.verdicts),
  );
});

describe('a VMMRQ whose status the incumbent uses is not written', () => {
  const record = aVmmrq((one) => ({
    ...one,
    status: { originalBlockingResourceQuotas: [{ name: 'quota', spec: { hard: { pods: '10' } } }] },
  }));

  test.each<[string, Partial<NamespaceSnapshot>, Vmmrq, boolean]>([
    ['the incumbent is there', { view: aView({ incumbent: 'remove it' }) }, aVmmrq(), false],
    [
      'the guard does not answer, and the API server shows it',
      { view: undefined, incumbent: 'remove it' },
      aVmmrq(),
      false,
    ],
    ['the guard does not answer, and the record is there', { view: undefined }, record, false],
    ['the guard does not answer, and there is none', { view: undefined }, aVmmrq(), true],
    ['its record is written after the guard answered', { view: aView() }, record, false],
    ['its record is in another VMMRQ of the namespace', { vmmrqs: [record] }, aVmmrq(named('more')), false],
    ['there is none', {}, aVmmrq(), true],
  ])('%s', (_what, different, vmmrq, isWritten) => {
    expect(decided(different).statusOf(vmmrq) !== undefined).toBe(isWritten);
  });
});

test('the reason and the message are those of the next action', () => {
  expect(decided(MIXED)).toMatchObject({ reason: REASON.fitsWithRaise });
  expect(decided({ vmmrqs: TOO_LITTLE }).message).toMatch(/^mig0: NoFit, /);
});
