import { expect, test } from '@jest/globals';
import { aMigration, aVmi, refusedAt } from '../../../test/support/builders/kubevirt.ts';
import { annotated, labelled } from '../../../test/support/builders/object.ts';
import { aFailure, exceeded } from '../../../test/support/builders/pod-rejection.ts';
import { aQuota, hard, used } from '../../../test/support/builders/quota.ts';
import { aSnapshot, aVmmrq, giving, RULES } from '../../../test/support/builders/snapshot.ts';
import { KUBEVIRT } from '../names.ts';
import type { VirtualMachineInstance } from '../objects.ts';
import { assess } from './assessment.ts';

/** Bytes that the source launcher has, and that the refused one asked for: 10 MiB more. */
const HAD = 1412828864;
const REFUSED = String(HAD + 10 * 1024 ** 2);
const FULL = aQuota(hard({ 'requests.memory': String(HAD) }), used({ 'requests.memory': String(HAD) }));

const outdated = labelled(KUBEVIRT.outdatedLauncher, '')(aVmi());
const waitingFor = (type: string): VirtualMachineInstance => ({
  ...outdated,
  status: { ...outdated.status, conditions: [{ type, status: 'True' }] },
});

/** The migration as the workload updater makes it, and as the evacuation controller does. */
const updates = annotated(KUBEVIRT.workloadUpdate, '')(refusedAt(-5)(aMigration()));
const evacuates = annotated(KUBEVIRT.evacuation, 'node1')(refusedAt(-5)(aMigration()));

// The workload updater marks a launcher as outdated before it creates the migration, so each refusal is of the new launcher.
test.each([
  ['the workload updater: as the refusal says', updates, outdated, 'FitsWithRaise'],
  [
    'the workload updater for a change of the VM: with a margin',
    updates,
    waitingFor('VolumesChange'),
    'NoFit',
  ],
  ['a drain, which may be older than the upgrade: with a margin', evacuates, outdated, 'NoFit'],
])('an outdated launcher that is migrated by %s', (_, migration, vmi, verdict) => {
  const snapshot = aSnapshot({
    migrations: [migration],
    vmis: new Map([['vm0', vmi]]),
    quotas: [FULL],
    events: [aFailure(exceeded('quota', `requests.memory=${REFUSED}`), -5)],
    vmmrqs: [aVmmrq(giving({ 'requests.memory': REFUSED }))],
  });
  expect(assess(snapshot, RULES).verdicts).toMatchObject([{ verdict }]);
});
