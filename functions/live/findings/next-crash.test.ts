import { expect, test } from '@jest/globals';
import { aPlanView, aSource, aVmView } from '../../../test/support/builders/live-plan.ts';
import { migrated, OWN_STATE } from '../../../test/support/builders/live-run.ts';
import { aVm, itsVmi } from '../../../test/support/builders/live.ts';
import type { MigrationState, RunStrategy } from '../../domain/live/kubevirt.ts';
import { planFindings } from './plan.ts';
import { rawText } from '../../../test/support/raw-text.ts';

const LOCAL: MigrationState = {
  sourceState: { migrationUID: 'one' },
  targetState: { migrationUID: 'one' },
};
const FAILED: MigrationState = { ...OWN_STATE, completed: true, failed: true };

const warned = (state: MigrationState, runStrategy: RunStrategy = 'Always'): (readonly string[])[] => {
  const vm = aVm((one) => ({ ...one, spec: { ...one.spec, runStrategy } }));
  const view = aVmView({ found: [vm], vmi: itsVmi(migrated(state)) });
  const findings = planFindings(aPlanView({ sourceCluster: aSource({ vms: [view] }) }));
  expect(findings.map(({ type }) => type)).toContain('Ready');
  return findings.filter(({ type }) => type === 'NextCrashHalts').map(({ items = [] }) => items.map(rawText));
};

test('a failed attempt is shown on the plan', () => {
  expect(warned(FAILED)).toEqual([['vms/web']]);
});

test.each<[string, MigrationState, RunStrategy]>([
  ['a migration within the cluster has cleared it', { ...LOCAL, completed: true }, 'Always'],
  ['that one failed too, which halts nothing', { ...LOCAL, completed: true, failed: true }, 'Always'],
  ['the VM is halted already', FAILED, 'Halted'],
  ['KubeVirt never restarts it', FAILED, 'Once'],
  ['KubeVirt keeps its strategy, as after a success', FAILED, 'RerunOnFailure'],
])('until %s', (_what, state, strategy) => {
  expect(warned(state, strategy)).toEqual([]);
});
