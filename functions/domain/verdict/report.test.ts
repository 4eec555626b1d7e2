import { describe, expect, test } from '@jest/globals';
import { aMigration } from '../../../test/support/builders/kubevirt.ts';
import {
  afterAttempt,
  aLock,
  anAttempt,
  aNamespace,
  lockedBy,
} from '../../../test/support/builders/namespace.ts';
import { named, NOW, seconds } from '../../../test/support/builders/object.ts';
import { aGrant, aQuota, holding } from '../../../test/support/builders/quota.ts';
import { aFailure, exceeded, forbidden } from '../../../test/support/builders/pod-rejection.ts';
import { aSnapshot, aVmmrq, giving, RULES } from '../../../test/support/builders/snapshot.ts';
import { assess } from './assessment.ts';
import { referenceOf } from '../migration.ts';
import { CONDITION, LOCK_OUTCOME } from '../names.ts';
import type { Condition, Namespace, VmmrqStatus } from '../objects.ts';
import { involvedMigration, involvedVmmrq, condition, statusReport, withConditions } from './report.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { rawText } from '../../../test/support/raw-text.ts';

test('the involved object of an Event', () => {
  expect(involvedMigration('tenant', referenceOf(aMigration()))).toEqual({
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstanceMigration',
    namespace: 'tenant',
    name: 'mig0',
    uid: 'uid-of-mig0',
  });
  expect(involvedVmmrq(aVmmrq())).toEqual({
    apiVersion: 'mtq.kubevirt.io/v1alpha1',
    kind: 'VirtualMachineMigrationResourceQuota',
    namespace: 'tenant',
    name: 'vmmrq',
    uid: 'uid-of-vmmrq',
  });
});

describe('withConditions', () => {
  const before: Condition[] = [
    { type: 'Ready', status: 'True', reason: 'Ready', message: 'yes', lastTransitionTime: seconds(-60) },
    { type: 'Locked', status: 'False', lastTransitionTime: null },
  ];

  test.each<[string, Condition['status'], string]>([
    ['the time stays while the status does', 'True', seconds(-60)],
    ['the time moves when the status does', 'False', seconds(0)],
  ])('%s', (_, status, lastTransitionTime) => {
    const changed = withConditions(before, [condition('Ready', status, 'Because', 'so')], NOW);
    expect(changed).toEqual([
      { type: 'Ready', status, reason: 'Because', message: 'so', lastTransitionTime },
      before[1],
    ]);
  });

  test('a condition without a time gets one', () => {
    const changed = withConditions(before, [condition('Locked', 'False', 'Unlocked', '')], NOW);
    expect(changed[1]).toMatchObject({ lastTransitionTime: seconds(0) });
  });

  test('a new one is added', () => {
    const changed = withConditions([], [condition('Ready', 'True', 'Ready', '')], NOW);
    expect(changed).toEqual([
      { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: seconds(0) },
    ]);
  });
});

describe('statusReport', () => {
  const reportOf = (different: Partial<NamespaceSnapshot> = {}, vmmrq = aVmmrq()): VmmrqStatus => {
    const snapshot = aSnapshot(different);
    return statusReport(vmmrq, snapshot, assess(snapshot, RULES).verdicts);
  };
  const conditionsOf = ({ conditions = [] }: VmmrqStatus): Record<string, string> =>
    Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${rawText(reason)}`]));

  test('the incumbent’s fields keep their meaning', () => {
    expect(reportOf()).toMatchObject({
      creationTime: aVmmrq().metadata.creationTimestamp,
      additionalMigrationResources: aVmmrq().spec.additionalMigrationResources,
      migrationsToBlockingResourceQuotas: { mig0: ['quota'] },
    });
  });

  test('conditions of other writers stay', () => {
    const theirs: Condition = { type: 'TheirOwn', status: 'True' };
    const report = reportOf(
      {},
      aVmmrq((vmmrq) => ({ ...vmmrq, status: { conditions: [theirs] } })),
    );
    expect(report.conditions?.[0]).toEqual(theirs);
  });

  test.each<[string, Partial<NamespaceSnapshot>, Record<string, string>]>([
    [
      'a migration waits',
      {},
      {
        [CONDITION.ready]: 'True Ready',
        [CONDITION.blocking]: 'True FitsWithRaise',
        [CONDITION.notEnough]: 'False Enough',
        [CONDITION.locked]: 'False Unlocked',
        [CONDITION.raised]: 'False Lowered',
      },
    ],
    [
      'nothing waits',
      { migrations: [] },
      {
        [CONDITION.ready]: 'True Ready',
        [CONDITION.blocking]: 'False NothingBlocked',
        [CONDITION.notEnough]: 'False Enough',
        [CONDITION.locked]: 'False Unlocked',
        [CONDITION.raised]: 'False Lowered',
      },
    ],
    ['the VM is gone: nothing waits', { vmis: new Map() }, { [CONDITION.blocking]: 'False NothingBlocked' }],
    [
      'not enough',
      { vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1m' }))] },
      { [CONDITION.blocking]: 'True NotEnough', [CONDITION.notEnough]: 'True NotEnough' },
    ],
  ])('%s', (_, different, want) => {
    expect(conditionsOf(reportOf(different))).toMatchObject(want);
  });

  test.each<[string, Partial<NamespaceSnapshot>]>([
    ['while the namespace is locked', { namespace: aNamespace(lockedBy(aLock())) }],
    ['while a quota holds a grant', { quotas: [aQuota(holding(aGrant()))] }],
  ])('%s, Locked and Raised are left to the running steps', (_, different) => {
    const originalBlockingResourceQuotas = [{ name: 'quota', spec: {} }];
    const report = reportOf(
      different,
      aVmmrq((vmmrq) => ({ ...vmmrq, status: { originalBlockingResourceQuotas } })),
    );
    expect(conditionsOf(report)).not.toHaveProperty(CONDITION.locked);
    expect(conditionsOf(report)).not.toHaveProperty(CONDITION.raised);
    expect(report).toMatchObject({ originalBlockingResourceQuotas });
  });

  const failed = aNamespace(afterAttempt(anAttempt({ failures: 2 })));
  const charged = aNamespace(
    afterAttempt(anAttempt({ failures: 2, outcome: LOCK_OUTCOME.charged, reason: 'Charged' })),
  );
  const early = aNamespace(
    afterAttempt(anAttempt({ failures: 2, outcome: LOCK_OUTCOME.ourFault, reason: 'QuotaStatusUnknown' })),
  );
  const said: Condition = { type: CONDITION.raisedButNotAdmitted, status: 'True' };
  test.each<[string, [Namespace, Condition[]], string | undefined]>([
    ['no attempt, and none before', [aNamespace(), []], undefined],
    ['the last attempts failed', [failed, []], 'True RaisedButNotAdmitted'],
    ['they ended by themselves', [aNamespace(afterAttempt(anAttempt({ reason: 'Ended' }))), []], undefined],
    ['nothing was raised', [aNamespace(afterAttempt(anAttempt({ reason: 'NoProof' }))), []], undefined],
    ['a success since', [aNamespace(afterAttempt(anAttempt({ failures: 0 }))), [said]], 'False Admitted'],
    ['no record any more', [aNamespace(), [said]], 'False Admitted'],
    ['an end without a raise, after failures', [early, []], undefined],
    ['an end without a raise, after reported failures', [early, [said]], 'True '],
    ['an end with a raise, after reported failures', [charged, [said]], 'False Admitted'],
  ])('the last attempt: %s', (_, [namespace, conditions], want) => {
    const report = reportOf(
      { namespace },
      aVmmrq((vmmrq) => ({ ...vmmrq, status: { conditions } })),
    );
    expect(conditionsOf(report)[CONDITION.raisedButNotAdmitted]).toBe(want);
  });

  test.each(['NoProof', 'RefusedByPolicy', 'IncumbentPresent'])('%s is a conflict, not a raise', (reason) => {
    const report = reportOf({ namespace: aNamespace(afterAttempt(anAttempt({ reason }))) }, aVmmrq());
    expect(conditionsOf(report)[CONDITION.conflict]).toBe(`True ${reason}`);
  });

  const messageOf = (status: VmmrqStatus, type: string): string =>
    rawText(status.conditions?.find((each) => each.type === type)?.message);

  test('a condition that reports a failure or a wait ends with what to do', () => {
    const notEnough = reportOf({ vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1m' }))] });
    expect(messageOf(notEnough, CONDITION.notEnough)).toMatch(/^mig0: .*\. Ask the admin of a named VMMRQ /s);
    expect(messageOf(notEnough, CONDITION.blocking)).toMatch(/^mig0: .*\. Ask the admin of a named VMMRQ /s);
    expect(messageOf(reportOf({ namespace: failed }), CONDITION.raisedButNotAdmitted)).toMatch(
      /\. Fix what /,
    );
    const hindered = aNamespace(afterAttempt(anAttempt({ reason: 'NoProof' })));
    expect(messageOf(reportOf({ namespace: hindered }), CONDITION.conflict)).toMatch(/\. Check the guard, /);
  });

  test('the message names the resource and the shortfall', () => {
    const status = reportOf({
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '600m', 'requests.memory': '1Gi' }))],
    });
    expect(messageOf(status, CONDITION.notEnough)).toContain('mig0: ');
    expect(messageOf(status, CONDITION.notEnough)).toContain('requests.cpu=600m, which is 5m too little');
  });

  test('why the pod of the last raise was refused, where an Event shows it', () => {
    const why = forbidden('violates PodSecurity "restricted:latest": runAsNonRoot');
    const byQuota = exceeded('quota', 'requests.memory=678174080');
    const messageFor = (events: NamespaceSnapshot['events']): string =>
      messageOf(reportOf({ namespace: failed, events }), CONDITION.raisedButNotAdmitted);
    expect(messageFor([aFailure(why)])).toContain(`\nmig0: ${why}`);
    expect(messageFor([aFailure(byQuota)])).toContain(
      '\nmig0: ResourceQuota quota refused its pod (requested requests.memory=647Mi, used ',
    );
    expect(messageFor([])).not.toContain('\n');
  });

  test('one of several', () => {
    const status = reportOf({ vmmrqs: [aVmmrq(), aVmmrq(named('more'))] });
    expect(messageOf(status, CONDITION.ready)).toContain('one of 2');
  });

  test('unusable amounts are named', () => {
    const status = reportOf({}, aVmmrq(giving({ cpu: '-1', memory: '1Gi' })));
    expect(conditionsOf(status)).toMatchObject({ [CONDITION.ready]: 'False UnusableAmount' });
    expect(messageOf(status, CONDITION.ready)).toMatch(/^cpu: /);
  });

  test('a spec without amounts', () => {
    expect(
      reportOf(
        {},
        aVmmrq((vmmrq) => ({ ...vmmrq, spec: {} })),
      ),
    ).toMatchObject({
      additionalMigrationResources: {},
    });
  });

  test('an equal report equals the status: nothing is written again', () => {
    const first = reportOf();
    expect(
      reportOf(
        { now: NOW + 60_000 },
        aVmmrq((vmmrq) => ({ ...vmmrq, status: first })),
      ),
    ).toEqual(first);
  });
});
