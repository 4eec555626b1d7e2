import { expect, test } from '@jest/globals';
import { runDemo } from '../../../hack/demo/demo.ts';
import { needsOwnCluster, SCENARIOS } from '../../../hack/demo/scenarios.ts';

const MAINTENANCE = SCENARIOS.filter(needsOwnCluster);

/** What kubectl or KubeVirt says in the end, and the MaintenanceProgress. A VM that has left before the first look is not counted. */
const SAID: Readonly<Record<string, readonly [string, RegExp]>> = {
  drain: ['node/node1 drained', /: Completed ([1-6])\/\1,/],
  upgrade: ['counts 0 VMs', /: Running ([1-9]|1[0-2])\/\1,/],
};

test.each(MAINTENANCE)('$name: every VM moves, and every check passes', async (scenario) => {
  const pieces: string[] = [];
  const out = { write: (text: string) => void pieces.push(text) };

  const result = await runDemo({ out, scenarios: [scenario], idleMs: 500 });

  const output = pieces.join('');
  const wrong = result.checkResults.flatMap((one) => one.wrong);
  expect({ ...result, wrong, output }).toMatchObject({ ok: true, wrong: [], running: [] });
  const [said = '', progress = /^$/] = SAID[scenario.name] ?? [];
  expect(output).toContain(said);
  expect(output).toMatch(progress);
});
