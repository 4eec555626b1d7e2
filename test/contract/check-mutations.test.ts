import { existsSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { mutated } from '../simulation/seeds/mutate.ts';
import { CHECK_MUTATIONS } from './check-mutations.ts';

test.each(CHECK_MUTATIONS)('finds its text and its test: $name', (mutation) => {
  expect(mutated(mutation).size).toBe(1);
  expect(existsSync(mutation.caughtBy)).toBe(true);
});
