import { expect, test } from '@jest/globals';
import { aPlan, aPlanMigration } from '../../test/support/builders/live.ts';
import { createdAt, seconds } from '../../test/support/builders/object.ts';
import type { MigrationStatus, Plan, PlanMigration } from '../../functions/domain/live/forklift.ts';
import { migrationOf } from './migration.ts';

const aged = (name: string, age: number, status: MigrationStatus = {}): PlanMigration => {
  const one = createdAt(-age)(aPlanMigration());
  return { ...one, metadata: { ...one.metadata, name }, status };
};
const RUNS = { started: seconds(0) };
const OVER = { ...RUNS, completed: seconds(1) };
const OTHER: PlanMigration = {
  ...aged('other', 50, RUNS),
  spec: { plan: { namespace: 'tenant', name: 'other' } },
};
const moved: Plan = {
  ...aPlan(),
  status: {
    conditions: [{ type: 'Succeeded', status: 'True', category: 'Advisory', lastTransitionTime: seconds(0) }],
  },
};

test.each<[string, readonly PlanMigration[], Plan, string | undefined]>([
  ['there is none', [OTHER], aPlan(), undefined],
  ['the one that runs', [aged('next', 5), aged('now', 10, RUNS), aged('old', 20, OVER)], aPlan(), 'now'],
  ['the next one', [aged('last', 5), aged('next', 8), aged('old', 20, OVER)], aPlan(), 'next'],
  ['the newest that ended', [aged('old', 20, OVER), aged('older', 30, OVER)], aPlan(), 'old'],
  ['none that comes too late', [aged('late', 5), aged('old', 20, OVER)], moved, 'old'],
  ['the only one, although it is too late', [aged('late', 5)], moved, 'late'],
])('followed is %s', (_what, ...[migrations, plan, wanted]) => {
  expect(migrationOf(plan, migrations)?.metadata.name).toBe(wanted);
});
