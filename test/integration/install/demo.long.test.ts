import { expect, test } from '@jest/globals';
import { runDemo } from '../../../hack/demo/demo.ts';
import { needsOwnCluster, SCENARIOS } from '../../../hack/demo/scenarios.ts';

/** Beside other tests a scenario takes several times as long. */
const DEADLINE_MS = 160_000;

test('npm run demo: each scenario of the shared cluster completes, and every check passes', async () => {
  let printed = '';
  const out = { write: (text: string) => (printed += text), isTTY: false } as const;
  const { ok, scenarios } = await runDemo({ out, deadlineMs: DEADLINE_MS, idleMs: 500 });
  const shared = SCENARIOS.filter((scenario) => !needsOwnCluster(scenario));
  expect({ ok, scenarios, printed }).toMatchObject({
    ok: true,
    scenarios: shared.map(({ name }) => ({ scenario: name })),
  });
});
