import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import { mutated } from '../simulation/seeds/mutate.ts';
import { CHECK_MUTATIONS } from './check-mutations.ts';

jest.setTimeout(5 * 60_000);

const root = fileURLToPath(new URL('../..', import.meta.url));
const JEST = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
/** A file that was transformed before must not hide the mutated source. */
const FLAGS = [
  '--no-cache',
  '--selectProjects',
  'unit',
  'simulation',
  '--json',
  '--reporters=default',
  '--runTestsByPath',
];

interface Result {
  readonly numFailedTests: number;
  readonly numPassedTests: number;
}

/** Runs a test file by the mutated source, in a Jest of its own. */
function resultOf(file: string, sources: ReadonlyMap<string, string>): Result {
  const mutatedSources = [...sources].map(([url, source]) => [fileURLToPath(url), source]);
  const env = { ...process.env, MUTATED_SOURCES: JSON.stringify(Object.fromEntries(mutatedSources)) };
  const { stdout } = spawnSync(process.execPath, [...JEST, ...FLAGS, file], {
    cwd: root,
    env,
    encoding: 'utf8',
  });
  return JSON.parse(stdout) as Result;
}

test.each(CHECK_MUTATIONS)('$caughtBy catches: $name', (mutation) => {
  const { numFailedTests, numPassedTests } = resultOf(mutation.caughtBy, mutated(mutation));
  expect(numFailedTests).toBeGreaterThan(0);
  // Not for an import that fails.
  expect(numPassedTests).toBeGreaterThan(0);
});
