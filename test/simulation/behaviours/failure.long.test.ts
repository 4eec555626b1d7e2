import { spawnSync } from 'node:child_process';
import { expect, jest, test } from '@jest/globals';
import type { InjectedFault } from '../world/faults.ts';
import { KILLING_SEEDS } from '../seeds/killing-seeds.ts';

const MUTATION = 'the guard does not check the UID';
const INVARIANT = 'I1';
jest.setTimeout(10 * 60_000);

const url = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

function node(...args: readonly string[]): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
}

/** As `npm run simulate -- …`. */
const simulate = (...args: readonly string[]): ReturnType<typeof node> =>
  node(new URL('../main.ts', import.meta.url).pathname, '--mutation', MUTATION, ...args);

/** The output of this command in a process with the mutation. */
function mutated(script: string): string {
  const mutate = `
    const { mutate, mutationNamed } = await import(${url('../seeds/mutate.ts')});
    mutate(mutationNamed(${JSON.stringify(MUTATION)}));
    const { run, runSeed } = await import(${url('../world/run.ts')});`;
  return node('--input-type=module', '--eval', `${mutate}\n${script}`).stdout.trim();
}

/** The printed text contains everything that a replay needs. */
const replay = (scenario: string, plan: readonly InjectedFault[]): string =>
  mutated(`
    const { violation } = await run({ ...${scenario}, rates: {} }, { plan: ${JSON.stringify(plan)} });
    console.log(violation);`);

/** Maximal turns of this seed's run, and the faults in it. */
const sizeOf = (seed: string): number =>
  Number(
    mutated(`
    const { scenarioOf } = await import(${url('../world/scenario.ts')});
    console.log(scenarioOf(${seed}).steps + (await runSeed(${seed})).happened.length);`),
  );

interface Printed {
  readonly seed: string;
  readonly violation: string;
  readonly scenario: string;
  readonly plan: readonly InjectedFault[];
  readonly trace: readonly string[];
}

/** Parsed from the text after "The shortest that was found:". */
function printedIn(stdout: string): Printed {
  const [, text = ''] = stdout.split('The shortest that was found:\n');
  const [head = '', scenario = '', faults = '', ...trace] = text.trimEnd().split('\n');
  const [, seed = '', violation = ''] = /^seed (\d+): (.*)$/.exec(head) ?? [];
  const plan = [...faults.matchAll(/(\w+) at ([^,]+)/g)].map(
    ([, fault, at]) => ({ at, fault }) as unknown as InjectedFault,
  );
  return { seed, violation, scenario: scenario.replace('scenario ', ''), plan, trace };
}

test('a failure report contains the seed and a shorter run, and its replay violates the same invariant', () => {
  const { status, stdout } = simulate('--runs', '1', '--seed', String(KILLING_SEEDS.stored(MUTATION)));
  expect(status).toBe(1);
  const { seed, violation, scenario, plan, trace } = printedIn(stdout);
  expect(stdout).toContain(`\nseed ${seed}: ${INVARIANT}: `);
  expect(violation).toMatch(new RegExp(`^${INVARIANT}: `));
  expect(trace.at(-1)).toContain(violation);

  const whole = simulate('--seed', seed, '--trace');
  expect(whole.status).toBe(1);
  const { steps } = JSON.parse(scenario) as { steps: number };
  expect(steps + plan.length).toBeLessThan(sizeOf(seed));
  expect(replay(scenario, plan)).toBe(violation);
});
