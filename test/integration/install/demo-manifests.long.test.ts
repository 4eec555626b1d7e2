import { expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { runDemo } from '../../../hack/demo/demo.ts';
import { SCENARIOS } from '../../../hack/demo/scenarios.ts';
import type { KnativeService, Trigger } from '../../cluster/eventing/manifests.ts';

/** Long enough for the steps before the broken one; a longer wait would fix none of these breakages. */
const DEADLINE_MS = 15_000;
const ONE = SCENARIOS.slice(0, 1);
/** Prevents the guard's resync, which would replace the missing events. */
const ENV = { SWEEP_SECONDS: '3600' };

interface Breakage {
  readonly change: (objects: KubernetesObject[]) => void;
  /** The first step that does not run. */
  readonly wantStep: string;
  /** The event that should have triggered it, and the actual deliveries. */
  readonly wantMessage: RegExp;
}

const BREAKAGES: Record<string, Breakage> = {
  'a Trigger that filters for an event that no process sends': {
    change: (objects) => {
      const { spec } = find<Trigger>(objects, 'Trigger', 'mtq-raise');
      spec.filters = [{ exact: { type: 'io.kubevirt.mtq.namespace.shut' } }];
    },
    // Before a quota's first lock, `lock` asks `raise` for a dry run.
    wantStep: 'lock',
    wantMessage:
      /Trigger mtq-lock .* It ran \d+ times\. .*a dry run shows first whether the raise of .* is refused/,
  },
  "a Service with another step's STEP": {
    change: (objects) => {
      const { spec } = find<KnativeService>(objects, 'Service', 'lock');
      const env = spec.template.spec.containers[0]?.env ?? [];
      for (const variable of env) if (variable.name === 'STEP') variable.value = 'raise';
    },
    wantStep: 'lock',
    wantMessage:
      /Trigger mtq-lock delivers io\.kubevirt\.mtq\.migration\.feasible .*answered 400, dead letter.*no step here \(raise\) handles/,
  },
  'a Trigger that no event passes': {
    change: (objects) => {
      const { spec } = find<Trigger>(objects, 'Trigger', 'mtq-lock');
      spec.filters = [{ exact: { type: 'io.kubevirt.mtq.migration.possible' } }];
    },
    wantStep: 'lock',
    wantMessage: /Trigger mtq-lock delivers io\.kubevirt\.mtq\.migration\.feasible .* delivered no event/,
  },
};

function find<T>(objects: readonly KubernetesObject[], kind: string, name: string): T {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (found === undefined) throw new Error(`the manifests have no ${kind} ${name}`);
  return found as T;
}

test('with the unchanged manifests the same scenario completes, and every check passes', async () => {
  const { out, output } = outputBuffer();

  const result = await runDemo({ out, scenarios: ONE, deadlineMs: 4 * DEADLINE_MS, idleMs: 500 });

  expect({
    ...result,
    wrong: result.checkResults.flatMap(({ wrong }) => wrong),
    output: output(),
  }).toMatchObject({
    ok: true,
    scenarios: ONE.map(({ name }) => ({ scenario: name })),
    wrong: [],
    running: [],
  });
});

test.each(Object.entries(BREAKAGES))('%s: the demo fails at exactly that step', async (_name, breakage) => {
  const { change, wantStep, wantMessage } = breakage;
  const { out, output } = outputBuffer();

  const result = await runDemo({
    out,
    change,
    scenarios: ONE,
    deadlineMs: DEADLINE_MS,
    idleMs: 500,
    env: ENV,
  });

  expect(result).toMatchObject({
    ok: false,
    scenarios: [{ stop: { milestone: wantStep, message: expect.stringMatching(wantMessage) } }],
  });
  expect(output()).toContain(`stopped at ${wantStep} in namespace one-quota`);
});

/** Collects the demo's output. */
function outputBuffer(): { out: { write(text: string): void }; output: () => string } {
  const pieces: string[] = [];
  return { out: { write: (text) => void pieces.push(text) }, output: () => pieces.join('') };
}
