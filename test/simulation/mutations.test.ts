import { afterAll, expect, jest, test } from '@jest/globals';
import { invariantOf } from './checker/invariant.ts';
import { MUTATIONS, type Mutation } from './mutations.ts';
import { mutated } from './mutate.ts';
import { simulate } from './pool.ts';

/** A mutation that lives through so many runs is a checker or a world that is too weak. */
const MOST_RUNS = 20_000;
jest.setTimeout(30 * 60_000);

const killed: string[] = [];
afterAll(() => void process.stdout.write(`${killed.join('\n')}\n`));

test('every name is another, and every mutation finds its place once', () => {
  expect(new Set(MUTATIONS.map(({ name }) => name)).size).toBe(MUTATIONS.length);
  for (const mutation of MUTATIONS) expect(mutated(mutation).size).toBeGreaterThan(0);
});

test('a place that is not there, or twice, is said', () => {
  const edits = (find: string): Mutation => ({
    name: 'none',
    breaks: [],
    edits: [{ file: 'functions/steps.ts', find, replace: '' }],
  });
  expect(() => mutated(edits('nowhere'))).toThrow('0 times in functions/steps.ts');
  expect(() => mutated(edits('import'))).toThrow('times in functions/steps.ts, not once');
});

test.concurrent.each(MUTATIONS)('caught: $name', async ({ name: mutation, breaks }) => {
  const { breaches, runs } = await simulate({ from: 1, count: MOST_RUNS, mutation, workers: 1 });
  const [first] = breaches;
  killed.push(
    `seed ${String(first?.seed ?? '-').padStart(5)}  ${mutation}: ${first?.breach ?? `lived through ${String(runs)} runs`}`,
  );
  expect(breaks).toContain(first === undefined ? 'none' : invariantOf(first.breach));
});
