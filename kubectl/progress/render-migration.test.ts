import { describe, expect, test } from '@jest/globals';
import { aPlanMigration } from '../../test/support/builders/live.ts';
import { seconds } from '../../test/support/builders/object.ts';
import type {
  LiveCondition,
  MigrationStatus,
  PlanMigration,
  VmStatus,
} from '../../functions/domain/live/forklift.ts';
import { migrationLine, renderMigration } from './render-migration.ts';

const condition = (type: string, different: Partial<LiveCondition> = {}): LiveCondition => ({
  ...{ type, status: 'True', category: 'Advisory', lastTransitionTime: seconds(0) },
  ...different,
});
const vm = (name: string, different: Partial<VmStatus> = {}): VmStatus => ({
  ...{ namespace: 'vms', name, phase: 'Started', pipeline: [], started: seconds(0) },
  ...different,
});
const BLOCKED = vm('web', {
  conditions: [condition('Blocked', { reason: 'OverQuota', message: 'quota q lacks pods=1' })],
});
const FAILED = vm('db', {
  completed: seconds(1),
  conditions: [condition('Failed', { reason: 'HookFailed', message: 'The VM migration has FAILED.' })],
  error: { phase: 'PreHook', reasons: ['the Job failed'] },
});
const MOVED = vm('old', { completed: seconds(1), conditions: [condition('Succeeded')] });

const running = (status: MigrationStatus): PlanMigration => ({
  ...aPlanMigration(),
  status: { started: seconds(0), progress: '50%', message: 'web: Started', ...status },
});
const linesOf = (migration: PlanMigration, columns = 120): string[] =>
  renderMigration(migration, { paint: (_, text) => text, columns });

describe('on a terminal', () => {
  test('a run has a bar, what its VMs do, and what is waited for', () => {
    const { started: _, ...waiting } = vm('last');
    expect(linesOf(running({ vms: [MOVED, vm('web'), waiting] }))).toEqual([
      'Migration of plan plan (migration)  [###############...............] 50%  Running',
      '  web: Started',
      '  moved 1, moving 1, waiting 1',
    ]);
  });

  test('VMs that are blocked are named instead, each with why', () => {
    expect(linesOf(running({ vms: [vm('fine'), BLOCKED, FAILED] }))).toEqual([
      'Migration of plan plan (migration)  [###############...............] 50%  Blocked',
      '  moving 2, failed 1',
      '  - vms/web (OverQuota: quota q lacks pods=1)',
      '  - vms/db (HookFailed: the Job failed)',
    ]);
  });

  test('only so many are named', () => {
    const lines = linesOf(running({ vms: Array.from({ length: 10 }, () => BLOCKED) }));
    expect(lines.at(-1)).toBe('    and 2 more');
    expect(lines).toHaveLength(11);
  });

  test('no line is longer than the screen', () => {
    const lines = linesOf(running({ message: 'long '.repeat(40), vms: [vm('web')] }), 80);
    expect(Math.max(...lines.map(({ length }) => length))).toBe(80);
  });
});

test.each<[string, PlanMigration, string]>([
  ['without a status', { ...aPlanMigration() }, 'migration Waiting 0%: it has not begun'],
  [
    'that may not begin',
    {
      ...aPlanMigration(),
      status: {
        conditions: [
          condition('PlanNotReady', { category: 'Critical', message: 'It is not.', suggestion: 'See it.' }),
        ],
      },
    },
    'migration Waiting 0%: It is not. See it.',
  ],
  ['that runs', running({ vms: [vm('web')] }), 'migration Running 50%: web: Started'],
  ['that is blocked', running({ vms: [BLOCKED] }), 'migration Blocked 50%: web: Started'],
  ...(['Succeeded', 'Failed', 'Canceled'] as const).map((end): [string, PlanMigration, string] => [
    `that has ended: ${end}`,
    running({ completed: seconds(1), progress: '100%', message: 'why', conditions: [condition(end)] }),
    `migration ${end} 100%: why`,
  ]),
])('in a pipe it is one line: one %s', (_what, migration, wanted) => {
  expect(migrationLine(migration)).toBe(wanted);
});
