import { expect, test } from '@jest/globals';
import { smallCase } from '../seeds/exhaustive.ts';
import type { InjectedFault } from '../world/faults.ts';
import { run } from '../world/run.ts';
import type { Scenario } from '../world/scenario.ts';

/** Found while shrinking (seed 427794 of that time): the run counted only turns, and no actor had one left. */
test('an orderly run ends even when its only migration is cancelled, and no step gets the event', async () => {
  const scenario: Scenario = {
    ...smallCase(1),
    vms: 3,
    quotas: { quota: { 'requests.cpu': '3000m', pods: '23' }, second: { memory: '3136Mi' } },
    gives: [
      {
        additionalMigrationResources: { 'requests.cpu': '2', 'requests.memory': '2Gi', pods: '2' },
        raisePolicy: 'Exact',
      },
    ],
  };
  const plan: InjectedFault[] = [
    { at: 'world#21', fault: 'sourceDown' },
    { at: 'world#60', fault: 'cancelMigration' },
  ];
  const { violation, happened } = await run(scenario, { plan });
  expect({ violation, happened }).toEqual({ violation: undefined, happened: plan });
});
