import { describe, expect, test } from '@jest/globals';
import { explain, type Explanation } from './explanation.ts';
import {
  aLauncher,
  aMigration,
  aTarget,
  aVmi,
  inPhase,
  refusedAt,
  withCondition,
} from '../../test/support/builders/kubevirt.ts';
import { aNamespace } from '../../test/support/builders/namespace.ts';
import { annotated, beingDeleted, metadata, seconds } from '../../test/support/builders/object.ts';
import {
  aClaim,
  aFailure,
  aLimitRange,
  exceeded,
  forbidden,
  keepingState,
} from '../../test/support/builders/pod-rejection.ts';
import { aQuota, hard } from '../../test/support/builders/quota.ts';
import { aSnapshot, aView, aVmmrq, RULES } from '../../test/support/builders/snapshot.ts';
import { ATTACKS, HIDING } from '../../test/support/foreign-attacks.ts';
import { decide } from '../../functions/feasibility/decide.ts';
import { ANNOTATION, KUBEVIRT, REASON, type Reason } from '../../functions/domain/names.ts';
import type { KubernetesEvent, LimitRange, Migration, VmmrqStatus } from '../../functions/domain/objects.ts';
import type { NamespaceSnapshot } from '../../functions/domain/snapshot.ts';
import { assess, type Assessment } from '../../functions/domain/verdict/assessment.ts';
import { statusReport } from '../../functions/domain/verdict/report.ts';

/** KubeVirt sets no condition for what these tests are about (facts/kubevirt.md §1.3). */
const PENDING = aMigration(withCondition());
const ROOM = [aQuota(hard({ pods: '10', 'requests.cpu': '8', 'requests.memory': '16Gi' }))];
const MUST_SPECIFY = forbidden('failed quota: quota: must specify requests.cpu for: istio-proxy');

const snapshotOf = (
  events: readonly KubernetesEvent[],
  different: Partial<NamespaceSnapshot> = {},
): NamespaceSnapshot =>
  aSnapshot({ migrations: [PENDING], quotas: ROOM, limitRanges: [aLimitRange()], events, ...different });
const assessed = (...given: Parameters<typeof snapshotOf>): Assessment => assess(snapshotOf(...given), RULES);
const explained = (...given: Parameters<typeof snapshotOf>): Explanation =>
  explain(PENDING, snapshotOf(...given), RULES);
const statusOf = (...given: Parameters<typeof snapshotOf>): VmmrqStatus =>
  statusReport(aVmmrq(), snapshotOf(...given), assessed(...given).verdicts);

describe('a target that something else than a quota’s amounts refuses is blocked', () => {
  test.each<[what: string, text: string, Reason]>([
    ['a value that a quota requires', MUST_SPECIFY, REASON.mustSpecify],
    [
      'a value that a quota of another kind requires',
      forbidden('failed quota: of-the-cluster: must specify limits.cpu for: istio-proxy'),
      REASON.mustSpecify,
    ],
    ['a scope', forbidden('insufficient quota to consume: requests.cpu'), REASON.noCoveringQuota],
    [
      'a LimitRange',
      forbidden('maximum memory usage per Pod is 1Gi, but limit is 1412828864'),
      REASON.limitRange,
    ],
    [
      'a hierarchical quota (HNC)',
      'admission webhook "resourcequota.hnc.x-k8s.io" denied the request: exceeded hierarchical quota in namespace "team": "hrq", requested: pods=1, used: pods=3, limited: pods=3',
      REASON.podRefused,
    ],
    [
      'a webhook without words',
      'admission webhook "a.b" denied the request without explanation',
      REASON.podRefused,
    ],
    [
      'a webhook that is away',
      'Internal error occurred: failed calling webhook "a.b": EOF',
      REASON.podRefused,
    ],
    ['Pod Security', forbidden('violates PodSecurity "restricted:latest": x'), REASON.podSecurity],
    ['a service account', forbidden('error looking up service account a/b: not found'), REASON.podRefused],
    ['an invalid pod', 'Pod "virt-launcher-vm0-x" is invalid: spec: Forbidden', REASON.podRefused],
    ['words of no known form', 'no pods on Saturdays', REASON.podRefused],
  ])('by %s', (_, text, reason) => {
    const events = [aFailure(text)];
    const want = { verdict: 'Unsupported', reason, message: text };
    const { verdicts, migrations, quotas } = assessed(events);
    expect(verdicts).toMatchObject([want]);
    expect([migrations, quotas]).toEqual([[], []]);
    expect(explained(events)).toMatchObject(want);
    expect(statusOf(events).conditions).toContainEqual(
      expect.objectContaining({ type: 'Blocking', status: 'True', reason }),
    );
    const { nudges, events: reports } = decide(snapshotOf(events), assessed(events));
    expect(nudges).toHaveLength(1);
    expect(JSON.parse(reports[0]?.verdict ?? '')).toEqual({ reason, message: text });
  });

  test('in a namespace where nothing is ever raised, too', () => {
    const namespace = aNamespace(annotated(ANNOTATION.skip, 'true'));
    expect(explained([aFailure(MUST_SPECIFY)], { namespace })).toMatchObject({
      verdict: 'Unsupported',
      reason: REASON.mustSpecify,
    });
  });

  test('by the last refusal, of several', () => {
    const [first, last] = [aFailure('no pods on Saturdays', -60), aFailure(MUST_SPECIFY, -5)];
    expect(explained([first, last])).toMatchObject({ reason: REASON.mustSpecify });
    // Also where the last one has no known form.
    const before = { ...last, metadata: { ...last.metadata, resourceVersion: '1' } };
    const unknown = { ...first, metadata: { ...first.metadata, resourceVersion: '2' } };
    expect(explained([unknown, before])).toMatchObject({ message: 'no pods on Saturdays' });
  });

  test('but without a migration slot it waits for that first', () => {
    const view = aView({ left: { cluster: 0, node: 2, nodes: {} } });
    expect(explained([aFailure(MUST_SPECIFY)], { view })).toMatchObject({ reason: REASON.parallelLimit });
  });

  test.each(ATTACKS)('with %s in the text, which is shown safely', (_, attack) => {
    expect(explained([aFailure(attack)]).message).not.toMatch(HIDING);
  });
});

describe('once the refusal is outdated', () => {
  const OUTDATED = [aFailure(forbidden('failed quota: quota: must specify limits.cpu for: istio-proxy'))];

  test('virt-controller is nudged', () => {
    expect(assessed(OUTDATED).verdicts).toMatchObject([{ verdict: 'Fits' }]);
    expect(decide(snapshotOf(OUTDATED), assessed(OUTDATED)).nudges).toHaveLength(1);
  });

  test('nothing is locked before KubeVirt shows that a quota refuses it: any tenant can write an Event', () => {
    const full = { quotas: [aQuota()] };
    const { verdicts, migrations, quotas } = assessed(OUTDATED, full);
    expect(verdicts).toMatchObject([
      { verdict: 'Fits', message: expect.stringContaining('ResourceQuota quota lacks requests.cpu=605m') },
    ]);
    expect([migrations, quotas]).toEqual([[], []]);
    expect(decide(snapshotOf(OUTDATED, full), assessed(OUTDATED, full))).toMatchObject({
      nudges: [{ migration: PENDING }],
    });
    expect(assessed(OUTDATED, { ...full, migrations: [aMigration()] }).migrations).toHaveLength(1);
  });

  test('too small an allowance is reported', () => {
    expect(assessed(OUTDATED, { quotas: [aQuota()], vmmrqs: [] }).verdicts).toMatchObject([
      { verdict: 'NoFit', reason: REASON.noVmmrq },
    ]);
  });

  test('it does not end the back-off of others', () => {
    const { fingerprint } = assessed([]);
    expect(assessed(OUTDATED).fingerprint).toBe(fingerprint);
  });
});

describe('a Pending migration is not blocked', () => {
  const changed = (different: Partial<KubernetesEvent>): KubernetesEvent => ({
    ...aFailure(MUST_SPECIFY),
    ...different,
  });
  const { involvedObject } = aFailure('');

  test.each<[what: string, KubernetesEvent[], Partial<NamespaceSnapshot>]>([
    ['without an Event', [], {}],
    ['by an Event on another VM', [changed({ involvedObject: { ...involvedObject, name: 'vm1' } })], {}],
    ['by an Event on a former VM', [changed({ involvedObject: { ...involvedObject, uid: 'old' } })], {}],
    ['by another Event', [changed({ reason: 'SuccessfulCreate' })], {}],
    ['by a refusal of before', [aFailure(MUST_SPECIFY, -3_603)], {}],
    [
      'by a refusal of before whose time is in the future',
      [
        changed({
          metadata: { ...aFailure('').metadata, creationTimestamp: seconds(-3_700) },
          lastTimestamp: seconds(3_600),
        }),
      ],
      {},
    ],
    // KubeVirt would show it: another wrote this Event.
    ['by an exceeded quota without KubeVirt’s condition', [aFailure(exceeded('quota', 'pods=1'))], {}],
    [
      'by a failure that passes',
      [aFailure('Operation cannot be fulfilled on resourcequotas "quota": the object has been modified')],
      {},
    ],
    [
      'by our own lock',
      [aFailure('admission webhook "locked.mtq.kubevirt.io" denied the request: locked')],
      {},
    ],
    ['with its target', [aFailure(MUST_SPECIFY)], { pods: [aLauncher(), aTarget(PENDING)] }],
  ])('%s', (_, events, different) => {
    const { verdicts } = assessed(events, different);
    expect(verdicts.filter(({ verdict }) => verdict !== 'NotBlocked')).toEqual([]);
    expect(explained(events, different)).toMatchObject({ verdict: 'NotBlocked' });
  });

  test.each<[string, Migration]>([
    ['past Pending', inPhase('Scheduling')(PENDING)],
    ['cancelled', beingDeleted()(PENDING)],
    [
      'held back by KubeVirt itself',
      aMigration(withCondition({ type: 'migrationBlockedByBackup', status: 'True' })),
    ],
  ])('%s', (_, migration) => {
    expect(assessed([aFailure(MUST_SPECIFY)], { migrations: [migration] }).verdicts).toEqual([]);
  });

  test('a forged amount hides no real refusal', () => {
    const forged = aFailure(exceeded('quota', 'pods=1'), -1);
    const events = [
      aFailure(MUST_SPECIFY),
      { ...forged, metadata: { ...forged.metadata, resourceVersion: '999' } },
    ];
    expect(explained(events)).toMatchObject({ reason: REASON.mustSpecify });
  });
});

test('a migration that a quota refused, and then something else, is blocked by the last refusal', () => {
  const migrations = [aMigration(refusedAt(-5))];
  const quotas = [aQuota()];
  const by = (text: string, after: number): unknown => {
    const events = [aFailure(exceeded('quota', 'requests.cpu=1005m'), -4), aFailure(text, after)];
    return assessed(events, { migrations, quotas }).verdicts[0];
  };
  const blocked = { verdict: 'Unsupported', reason: REASON.podRefused, message: 'no pods on Saturdays' };
  expect(by('no pods on Saturdays', -1)).toMatchObject(blocked);
  expect(by('no pods on Saturdays', -9)).toMatchObject({ verdict: 'FitsWithRaise' });
});

describe('a LimitRange that refuses the volume claim for the VM’s state, which KubeVirt does not show', () => {
  const min = (storage: string): LimitRange => ({
    metadata: metadata('range'),
    spec: { limits: [{ type: 'PersistentVolumeClaim', min: { storage } }] },
  });
  const stateful = {
    vmis: new Map([['vm0', keepingState()]]),
    claims: [aClaim()],
    limitRanges: [min('1Gi')],
  };

  test('is named', () => {
    expect(explained([], stateful)).toMatchObject({
      verdict: 'Unsupported',
      reason: REASON.limitRange,
      message:
        'the target first needs a volume claim, which LimitRange range refuses: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 10Mi',
      advice: "Change the LimitRange or the VM's size.",
    });
  });

  test.each<[string, Partial<NamespaceSnapshot>]>([
    ['the claim is large enough', { limitRanges: [min('10Mi')] }],
    ['the VM keeps no state', { vmis: new Map([['vm0', aVmi()]]) }],
    [
      'the migration has its claim',
      {
        claims: [
          aClaim(),
          aClaim((claim) => ({
            ...claim,
            metadata: { ...claim.metadata, labels: { [KUBEVIRT.migrationName]: 'mig0' } },
          })),
        ],
      },
    ],
  ])('refuses nothing where %s', (_, different) => {
    expect(explained([], { ...stateful, ...different })).toMatchObject({ verdict: 'NotBlocked' });
  });

  test('is not looked for where the migration has its target', () => {
    const migration = inPhase('Running')(PENDING);
    const snapshot = snapshotOf([], { ...stateful, migrations: [migration] });
    expect(explain(migration, snapshot, RULES)).toMatchObject({ verdict: 'NotBlocked' });
  });
});
