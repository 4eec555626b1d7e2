import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  anAttachment,
  aTarget,
  ready,
  withCondition,
} from '../../test/builders/kubevirt.ts';
import { aQuota, hard, used } from '../../test/builders/quota.ts';
import { aFailure, exceeded, forbidden } from '../../test/builders/refusal.ts';
import { aSnapshot, aVmmrq, giving, RULES } from '../../test/builders/snapshot.ts';
import { assess, type Assessment } from './assessment.ts';
import { REASON } from './names.ts';
import type { KubernetesEvent } from './objects.ts';
import type { NamespaceSnapshot } from './snapshot.ts';

/** The VM runs in `source` with hotplugged volumes; its migration has a target that is ready. */
const source = aLauncher();
const waiting: Partial<NamespaceSnapshot> = {
  migrations: [aMigration(withCondition())],
  pods: [source, anAttachment(source), aTarget(aMigration(), ready)],
};
/** Both launchers and the source's attachment pod are charged: the quota is exceeded since it was put back. */
const over = aQuota(
  hard({ pods: '10', 'requests.cpu': '1405m', 'limits.memory': '100M' }),
  used({ pods: '3', 'requests.cpu': '2020m', 'limits.memory': '80M' }),
);
const given = giving({ 'requests.cpu': '1', 'limits.memory': '80M' });

const assessed = (different: Partial<NamespaceSnapshot> = {}): Assessment =>
  assess(aSnapshot({ ...waiting, quotas: [over], vmmrqs: [aVmmrq(given)], ...different }), RULES);

const aRefusal = (why: string): KubernetesEvent => ({
  ...aFailure(''),
  message: `Error creating attachment pod: ${why}`,
});

describe('a target that waits for its attachment pod', () => {
  test('fits with a raise of what that pod needs, like the source’s; the lock says what for', () => {
    const { verdicts, migrations, quotas } = assessed();
    expect(verdicts).toEqual([
      expect.objectContaining({
        verdict: 'FitsWithRaise',
        message: expect.stringMatching(
          /hotplugged volumes: quota lacks requests.cpu=625m, limits.memory=60000000$/,
        ),
      }),
    ]);
    expect(migrations).toEqual([{ name: 'mig0', uid: 'uid-of-mig0', lacks: 'attachment' }]);
    expect(quotas).toMatchObject([
      { name: 'quota', need: { pods: '1', 'requests.cpu': '10m', 'limits.memory': '80000000' } },
    ]);
  });

  test('what the API server said of it counts; what it said of the target does not', () => {
    const said = aRefusal(exceeded('quota', 'requests.cpu=20m'));
    const ofTarget = aFailure(exceeded('quota', 'requests.cpu=1005m'));
    expect(assessed({ events: [said, ofTarget] }).quotas).toMatchObject([
      { need: { 'requests.cpu': '20m' } },
    ]);
  });

  test('what no raise helps against is told, and nothing is locked', () => {
    const { verdicts, migrations } = assessed({
      events: [aRefusal(forbidden('violates PodSecurity "restricted"'))],
    });
    expect(verdicts).toMatchObject([{ verdict: 'Unsupported', reason: REASON.podSecurity }]);
    expect(migrations).toEqual([]);
  });

  test('given too little: that, and not that others go first', () => {
    const vmmrqs = [aVmmrq(giving({ 'requests.cpu': '1' }))];
    expect(assessed({ vmmrqs }).verdicts).toMatchObject([
      {
        reason: REASON.notEnough,
        message: expect.stringContaining('limits.memory=60000000 more than the VMMRQs give'),
      },
    ]);
  });

  test('KubeVirt’s parallel limits let it run already', () => {
    const parallel = { running: 5, perCluster: 5, outbound: new Map(), perNode: 2 };
    expect(assessed({ parallel }).verdicts).toMatchObject([{ verdict: 'FitsWithRaise' }]);
  });

  test('there is room by now: virt-controller is to look again', () => {
    expect(assessed({ quotas: [] }).verdicts).toMatchObject([{ verdict: 'Fits' }]);
  });
});

describe('a target that will need an attachment pod', () => {
  const before: Partial<NamespaceSnapshot> = {
    migrations: [aMigration()],
    pods: [source, anAttachment(source)],
    quotas: [
      aQuota(hard({ pods: '10', 'requests.cpu': '1405m' }), used({ pods: '2', 'requests.cpu': '1015m' })),
    ],
  };
  const with1 = (cpu: string): Assessment =>
    assessed({ ...before, vmmrqs: [aVmmrq(giving({ 'requests.cpu': cpu }))] });

  test('is raised for alone, where both are given', () => {
    const { verdicts, quotas } = with1('625m');
    expect(verdicts).toMatchObject([{ verdict: 'FitsWithRaise', migration: { name: 'mig0' } }]);
    expect(quotas).toMatchObject([{ need: { pods: '1', 'requests.cpu': '1005m' } }]);
  });

  test('is not let in to wait for one that can never come', () => {
    expect(with1('624m').verdicts).toMatchObject([
      { reason: REASON.notEnough, message: expect.stringContaining('requests.cpu=1m more') },
    ]);
  });
});
