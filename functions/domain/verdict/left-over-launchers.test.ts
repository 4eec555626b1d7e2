import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  aTarget,
  inPhase,
  ofVm,
  onNode,
  podPhase,
  withCondition,
} from '../../../test/support/builders/kubevirt.ts';
import { aNamespace } from '../../../test/support/builders/namespace.ts';
import {
  annotated,
  beingDeleted,
  createdAt,
  labelled,
  named,
  seconds,
  withUid,
  type Change,
} from '../../../test/support/builders/object.ts';
import { aSnapshot, aVmmrq, giving, RULES } from '../../../test/support/builders/snapshot.ts';
import { withAdvice } from '../advice.ts';
import { ANNOTATION, KUBEVIRT, REASON } from '../names.ts';
import type { Migration, Pod } from '../objects.ts';
import { assess } from './assessment.ts';
import type { Verdict } from './verdict.ts';

/** mig1 of vm1, in this phase since so many seconds after now. */
const mig1 = (phase: string, since = -3_600): Migration =>
  aMigration(named('mig1'), ofVm('vm1'), inPhase(phase), (migration) => ({
    ...migration,
    status: {
      ...migration.status,
      phaseTransitionTimestamps: [{ phase, phaseTransitionTimestamp: seconds(since) }],
    },
  }));
const vm1 = aLauncher('vm1');
const second = (...changes: Change<Pod>[]): Pod =>
  aLauncher('vm1', named('second'), withUid('second'), onNode('node2'), ...changes);
const target = (...changes: Change<Pod>[]): Pod =>
  second(labelled(KUBEVIRT.migrationJobUID, 'uid-of-mig1'), ...changes);

describe('the headroom of a second launcher of another VM', () => {
  const verdictOf = (pods: readonly Pod[], migrations: readonly Migration[] = []): Verdict | undefined =>
    assess(
      aSnapshot({
        pods: [aLauncher(), vm1, ...pods],
        migrations: [aMigration(), ...migrations],
        vmmrqs: [aVmmrq(giving({ 'requests.cpu': '100m' }))],
      }),
      RULES,
    ).verdicts[0];

  test.each<[what: string, Pod[], Migration[]]>([
    ['of a migration that is under way', [target()], [mig1('Running')]],
    ['of a migration that succeeded a moment ago', [target()], [mig1('Succeeded', -59)]],
    ['of a migration that failed a moment ago', [target()], [mig1('Failed', -59)]],
    ['that is on its way out', [second(beingDeleted(-59))], []],
    ['of a migration that is newer than the list', [target(podPhase('Pending'), createdAt(-59))], []],
  ])('%s returns by itself', (_, pods, migrations) => {
    expect(verdictOf(pods, migrations)).toMatchObject({ verdict: 'Waiting', reason: REASON.afterOthers });
  });

  test.each<[what: string, Pod[], Migration[]]>([
    ['without any migration', [second()], []],
    ['of a migration that is gone', [target()], []],
    ['that no node takes, of a migration that is gone', [target(podPhase('Pending'), createdAt(-60))], []],
    ['of a migration that succeeded minutes ago', [target()], [mig1('Succeeded', -60)]],
    ['of a migration that failed minutes ago', [target()], [mig1('Failed', -60)]],
    ['beside a migration that has no target', [second()], [mig1('Pending')]],
    ['whose node does not end it', [second(beingDeleted(-60))], []],
  ])('%s is usage, and the verdict names both', (_, pods, migrations) => {
    const verdict = verdictOf(pods, migrations);
    expect(verdict).toMatchObject({ verdict: 'NoFit', reason: REASON.notEnough });
    expect(verdict?.message).toContain(
      'requests.cpu=100m, which is 505m too little, and requests.memory=0, which is 748Mi too little; ' +
        'VM vm1 has 2 launchers and no migration (virt-launcher-vm1-source, second)',
    );
  });

  test('that has ended is not named', () => {
    const { message = '' } = verdictOf([second(podPhase('Succeeded'))]) ?? {};
    expect(message).not.toContain('second');
  });

  test('of any user, with a label only, is no second launcher', () => {
    const bare = ({ metadata, ...pod }: Pod): Pod => ({
      ...pod,
      metadata: { ...metadata, labels: { [KUBEVIRT.launcherLabel]: KUBEVIRT.launcher } },
    });
    expect(verdictOf([bare(second()), bare(second(named('third')))])).toMatchObject({ verdict: 'NoFit' });
  });
});

describe('a second launcher of the VM itself', () => {
  const own = aLauncher('vm0', named('left-over'), withUid('left-over'), onNode('node2'));

  test.each<[string, Migration]>([
    ['that KubeVirt shows nothing of', aMigration(withCondition())],
    ['that a quota refused before', aMigration()],
  ])('keeps a migration from its target, %s', (_, migration) => {
    const { verdicts, migrations } = assess(
      aSnapshot({ migrations: [migration], pods: [aLauncher(), own] }),
      RULES,
    );
    expect(verdicts).toMatchObject([
      {
        verdict: 'Unsupported',
        reason: REASON.launcherLeftOver,
        message: expect.stringContaining(
          'virt-launcher-vm0-source on node1, left-over on node2; it runs on node1',
        ),
      },
    ]);
    expect(migrations).toEqual([]);
  });

  test('that its node does not end: it is being deleted already', () => {
    const stuck = beingDeleted(-3_600)(own);
    const [verdict] = assess(aSnapshot({ pods: [aLauncher(), stuck] }), RULES).verdicts;
    expect(verdict?.message).toContain(
      `virt-launcher-vm0-source on node1, left-over on node2 (being deleted since ${seconds(-3_600)}: its node does not end it); it runs on`,
    );
    expect(withAdvice('', [verdict?.reason ?? ''])).toContain('or make its node answer');
  });

  test('also where nothing is ever raised', () => {
    const namespace = aNamespace(annotated(ANNOTATION.skip, 'true'));
    const snapshot = aSnapshot({
      namespace,
      migrations: [aMigration(withCondition())],
      pods: [aLauncher(), own],
    });
    expect(assess(snapshot, RULES).verdicts).toMatchObject([{ reason: REASON.launcherLeftOver }]);
  });

  test('does not while it goes after a former migration, nor once there is a target', () => {
    const former = aMigration(named('former'), inPhase('Succeeded'), (migration) => ({
      ...migration,
      status: {
        ...migration.status,
        phaseTransitionTimestamps: [{ phase: 'Succeeded', phaseTransitionTimestamp: seconds(-5) }],
      },
    }));
    const pods = [aLauncher(), labelled(KUBEVIRT.migrationJobUID, 'uid-of-former')(own)];
    expect(assess(aSnapshot({ migrations: [aMigration(), former], pods }), RULES).verdicts).toMatchObject([
      { verdict: 'FitsWithRaise' },
    ]);
    const pending = aMigration(withCondition());
    const through = { migrations: [pending], pods: [aLauncher(), own, aTarget(pending)] };
    expect(assess(aSnapshot(through), RULES).verdicts).toEqual([]);
  });
});
