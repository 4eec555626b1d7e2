import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  anAttachment,
  aTarget,
  aVmi,
  ofVm,
  ready,
  withCondition,
} from '../../../test/support/builders/kubevirt.ts';
import { annotated, named } from '../../../test/support/builders/object.ts';
import { aQuota, hard, used } from '../../../test/support/builders/quota.ts';
import { aFailure, exceeded, forbidden } from '../../../test/support/builders/pod-rejection.ts';
import { aSnapshot, aView, aVmmrq, giving, RULES } from '../../../test/support/builders/snapshot.ts';
import { assess, type Assessment } from './assessment.ts';
import { ANNOTATION, REASON } from '../names.ts';
import type { KubernetesEvent } from '../objects.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';

/** The VM runs in `source` with hotplugged volumes; its migration has a target that is ready. */
const source = aLauncher();
const waiting: Partial<NamespaceSnapshot> = {
  migrations: [aMigration(withCondition())],
  pods: [source, anAttachment(source), aTarget(aMigration(), ready)],
};
/** The quota is exceeded since it was lowered: both launchers and the source's attachment pod are charged. */
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
  test('fits with a raise for a pod like the source’s attachment pod; the lock names that pod', () => {
    const { verdicts, migrations, quotas } = assessed();
    expect(verdicts).toEqual([
      expect.objectContaining({
        verdict: 'FitsWithRaise',
        message: expect.stringMatching(
          /hotplugged volumes: ResourceQuota quota lacks requests.cpu=625m, limits.memory=57\.3Mi$/,
        ),
      }),
    ]);
    expect(migrations).toEqual([
      { name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0', lacks: 'attachment' },
    ]);
    expect(quotas).toMatchObject([
      { name: 'quota', need: { pods: '1', 'requests.cpu': '10m', 'limits.memory': '80000000' } },
    ]);
  });

  test('the API server’s refusals of it count; those of the target do not', () => {
    const said = aRefusal(exceeded('quota', 'requests.cpu=20m'));
    const ofTarget = aFailure(exceeded('quota', 'requests.cpu=1005m'));
    expect(assessed({ events: [said, ofTarget] }).quotas).toMatchObject([
      { need: { 'requests.cpu': '20m' } },
    ]);
  });

  test('a refusal that no raise helps against is reported, and nothing is locked', () => {
    const { verdicts, migrations } = assessed({
      events: [aRefusal(forbidden('violates PodSecurity "restricted"'))],
    });
    expect(verdicts).toMatchObject([{ verdict: 'Unsupported', reason: REASON.podSecurity }]);
    expect(migrations).toEqual([]);
  });

  test('too small an allowance is reported as such, not as others going first', () => {
    const vmmrqs = [aVmmrq(giving({ 'requests.cpu': '1' }))];
    expect(assessed({ vmmrqs }).verdicts).toMatchObject([
      {
        reason: REASON.notEnough,
        message: expect.stringContaining('limits.memory=0, which is 57.3Mi too little'),
      },
    ]);
  });

  test('others wait until it is through: it has a lock of its own', () => {
    const others = {
      migrations: [aMigration(named('mig1'), ofVm('vm1')), aMigration(withCondition())],
      pods: [...(waiting.pods ?? []), aLauncher('vm1')],
      vmis: new Map([
        ['vm0', aVmi()],
        ['vm1', aVmi('vm1')],
      ]),
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '9', 'limits.memory': '9G' }))],
    };
    const { verdicts, migrations } = assessed(others);
    expect(verdicts).toMatchObject([{ verdict: 'FitsWithRaise' }, { reason: REASON.afterOthers }]);
    expect(migrations).toMatchObject([{ name: 'mig0' }]);
  });

  test('KubeVirt counts it among its parallel ones: no lock for a migration that KubeVirt would not start', () => {
    const others = {
      migrations: [aMigration(named('mig1'), ofVm('vm1')), aMigration(withCondition())],
      pods: [...(waiting.pods ?? []), aLauncher('vm1')],
      events: [aRefusal(forbidden('violates PodSecurity "restricted"'))],
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '9', 'limits.memory': '9G' }))],
    };
    const on = (node: string, perCluster: number): (string | undefined)[] =>
      assessed({
        ...others,
        view: aView({ left: { cluster: perCluster, node: 1, nodes: {} } }),
        vmis: new Map([
          ['vm0', aVmi()],
          ['vm1', aVmi('vm1', node)],
        ]),
      }).verdicts.map(({ reason }) => reason);
    expect(on('node1', 5)).toEqual([REASON.podSecurity, REASON.parallelLimit]);
    expect(on('node2', 1)).toEqual([REASON.podSecurity, REASON.parallelLimit]);
    expect(on('node2', 5)).toEqual([REASON.podSecurity, REASON.fitsWithRaise]);
  });

  test('KubeVirt counts a target that is not ready yet too, on the node that its VM leaves', () => {
    const others = {
      migrations: [aMigration(named('mig1'), ofVm('vm1')), aMigration(withCondition())],
      pods: [source, aTarget(), aLauncher('vm1')],
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '9', 'limits.memory': '9G' }))],
    };
    const on = (node: string, perCluster: number): (string | undefined)[] =>
      assessed({
        ...others,
        view: aView({ left: { cluster: perCluster, node: 1, nodes: {} } }),
        vmis: new Map([['vm1', aVmi('vm1', node)]]),
      }).verdicts.map(({ reason }) => reason);
    expect(on('node1', 5)).toEqual([REASON.parallelLimit]);
    expect(on('node2', 1)).toEqual([REASON.parallelLimit]);
    expect(on('node2', 5)).toEqual([REASON.fitsWithRaise]);
  });

  test('KubeVirt’s parallel limits let it run already', () => {
    const view = aView({ left: { cluster: 0, node: 0, nodes: {} } });
    expect(assessed({ view }).verdicts).toMatchObject([{ verdict: 'FitsWithRaise' }]);
  });

  test('there is headroom by now: virt-controller has to look again', () => {
    expect(assessed({ quotas: [] }).verdicts).toMatchObject([{ verdict: 'Fits' }]);
  });
});

describe('a target that will need an attachment pod (F36)', () => {
  const before: Partial<NamespaceSnapshot> = {
    migrations: [aMigration()],
    pods: [source, anAttachment(source)],
    quotas: [
      aQuota(hard({ pods: '10', 'requests.cpu': '1405m' }), used({ pods: '2', 'requests.cpu': '1015m' })),
    ],
  };
  const with1 = (cpu: string): Assessment =>
    assessed({ ...before, vmmrqs: [aVmmrq(giving({ 'requests.cpu': cpu }))] });

  test('gets a raise for the target alone, where the allowance covers both', () => {
    const { verdicts, quotas } = with1('625m');
    expect(verdicts).toMatchObject([{ verdict: 'FitsWithRaise', migration: { name: 'mig0' } }]);
    expect(quotas).toMatchObject([{ need: { pods: '1', 'requests.cpu': '1005m' } }]);
  });

  test('is not admitted to wait for one that can never come', () => {
    const message = expect.stringMatching(
      /requests.cpu=625m for it and the pod that attaches .* which is 1m too little/,
    );
    expect(with1('624m').verdicts).toMatchObject([{ reason: REASON.notEnough, message }]);
  });

  test('nor where no raise is allowed for it', () => {
    const skipped = aQuota(
      named('pods'),
      annotated(ANNOTATION.skip, 'true'),
      hard({ pods: '3' }),
      used({ pods: '2' }),
    );
    const { verdicts } = assessed({ ...before, quotas: [...(before.quotas ?? []), skipped] });
    expect(verdicts).toMatchObject([{ verdict: 'Unsupported', reason: REASON.skipped }]);
  });
});
