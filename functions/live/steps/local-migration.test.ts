import { expect, test } from '@jest/globals';
import {
  aReceiver,
  arrived,
  aWaitingVmi,
  firstAttempt,
  going,
  migrated,
  showing,
  summary,
  writtenRecord,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { RUN } from '../../../test/support/builders/live.ts';
import { metadata, NOW, seconds } from '../../../test/support/builders/object.ts';
import type { MigrationState, Vmi, Vmim } from '../../domain/live/kubevirt.ts';
import { KIND } from '../../domain/names.ts';
import { localVmimName } from '../run/names.ts';
import type { RunRecord } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { decide } from './local-migration.ts';

const NAME = localVmimName(RUN);
const SIDES: MigrationState = {
  sourceState: { migrationUID: 'uid-of-sent', syncAddress: '10.8.0.1:9185' },
  targetState: { migrationUID: 'uid-of-received' },
  completed: true,
};
const SETTINGS = { transferMs: undefined, sourceMs: 86_400_000, allowOverQuota: false, localMigration: true };
const always = aReceiver((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Always' } }));
const local = (phase: string): Vmim => ({
  ...KIND.migration,
  metadata: { ...metadata(NAME), namespace: 'target' },
  spec: { vmiName: 'web' },
  status: { phase },
});
const withCondition =
  (type: string, status: 'True' | 'False') =>
  (vmi: Vmi): Vmi => ({ ...vmi, status: { ...vmi.status, conditions: [{ type, status }] } });

/** A VM that has moved, whose VMI keeps both sides. */
const moved = ({ hub, target }: Different = {}, record: Partial<RunRecord> = {}): RecordedRun =>
  firstAttempt(
    {
      hub: { settings: SETTINGS, ...hub },
      target: { vm: always, vmi: aWaitingVmi(arrived, migrated(SIDES)), vmims: [], ...target },
    },
    { arrivedAt: seconds(-60), ...record },
  );
const waited = (seconds: number): NonNullable<Different['hub']> => ({
  settings: SETTINGS,
  now: NOW,
  ...showing('MigratingOnTarget', seconds),
});
const begun = { local: true } as const;
const BEGINS = `replace VirtualMachine web on source, create VirtualMachineInstanceMigration ${NAME} on target`;
const DELETES = `delete VirtualMachineInstanceMigration ${NAME} on target`;

test.each<[string, RecordedRun, string]>([
  ['begins where the next crash would halt the VM', moved(), BEGINS],
  ['is not wanted', moved({ hub: { settings: { ...SETTINGS, localMigration: false } } }), 'done'],
  [
    'has no need, as KubeVirt has cleared both sides',
    moved({ target: { vmi: aWaitingVmi(arrived, migrated({ completed: true })) } }),
    'done',
  ],
  [
    'has no need, as KubeVirt keeps the strategy',
    moved({ target: { vm: { ...always, spec: { ...always.spec, runStrategy: 'Manual' } } } }),
    'done',
  ],
  [
    'cannot move its disks',
    moved({
      target: { vmi: aWaitingVmi(arrived, migrated(SIDES), withCondition('LiveMigratable', 'False')) },
    }),
    'done',
  ],
  [
    'can be migrated',
    moved({
      target: { vmi: aWaitingVmi(arrived, migrated(SIDES), withCondition('LiveMigratable', 'True')) },
    }),
    BEGINS,
  ],
  ['does not run', moved({ target: { vmi: undefined } }), 'done'],
  ['was canceled', moved({ hub: { stop: { reason: 'UserRequested', message: '' } } }), 'done'],
  ['is refused for long', moved({ hub: { refused: 'no' } }), 'done'],
  ['was refused, or is over', moved({}, begun), 'done'],
  ['waits for its launcher', moved({ target: { local: local('Pending') } }, begun), 'wait MigratingOnTarget'],
  [
    'waits for fourteen minutes',
    moved({ hub: waited(840), target: { local: local('Pending') } }, begun),
    'wait MigratingOnTarget',
  ],
  [
    'gives up after fifteen',
    moved({ hub: waited(900), target: { local: local('Pending') } }, begun),
    DELETES,
  ],
  [
    'copies for longer',
    moved({ hub: waited(900), target: { local: local('Running') } }, begun),
    'wait MigratingOnTarget',
  ],
  [
    'does not copy for ever',
    moved({ hub: waited(3_600), target: { local: local('Running') } }, begun),
    DELETES,
  ],
  ['has succeeded', moved({ target: { local: local('Succeeded') } }, begun), DELETES],
  ['has failed', moved({ target: { local: local('Failed') } }, begun), DELETES],
  ['goes', moved({ target: { local: going()(local('Running')) } }, begun), 'done'],
])('a migration within the target: %s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});

test('it is recorded before its VMIM, which may be refused', () => {
  const decision = decide(moved());
  if (decision.kind !== 'write') throw new Error('it must write');
  const [, create] = decision.writes;
  expect(create).toMatchObject({ isOptional: true, object: { spec: { vmiName: 'web' } } });
  expect(writtenRecord(decision)?.local).toBe(true);
});
