import { expect, test } from '@jest/globals';
import { smallCase } from './exhaustive.ts';
import type { InjectedFault } from './faults.ts';
import { run } from './run.ts';
import type { Scenario } from './scenario.ts';

/** As the search for a shorter trace met it (seed 427794 of its day): only turns were counted, and nobody took one any more. */
test('an orderly run ends though its only migration is cancelled, and nobody hears of that', async () => {
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
