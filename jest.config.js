/** One transform, Node's own: types are stripped, nothing else is changed (tsc checks them). */
const base = {
  rootDir: '.',
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/strip-types.js' },
};

const SECOND = 1_000;

export default {
  // Only a bound on what hangs: the integration tests wait for a real API server. (Jest ignores it in a project.)
  testTimeout: 240 * SECOND,
  // The integration tests wait more than they compute: two at a time, on two cores as well.
  maxWorkers: 2,
  reporters: ['default', '<rootDir>/test/whole-run/reporter.ts', '<rootDir>/test/closing-line.js'],
  projects: [
    {
      ...base,
      displayName: 'unit',
      testMatch: ['<rootDir>/{functions,webhook,local}/**/*.test.ts'],
    },
    // The suite's own parts; the suite itself runs in integration (e2e), or by npm run test:e2e.
    { ...base, displayName: 'e2e', testMatch: ['<rootDir>/test/e2e/*.test.ts'] },
    { ...base, displayName: 'contract', testMatch: ['<rootDir>/test/contract/*.test.ts'] },
    {
      ...base,
      displayName: 'simulation',
      testMatch: ['<rootDir>/test/simulation/**/*.test.ts'],
    },
    {
      ...base,
      displayName: 'integration',
      testMatch: ['<rootDir>/test/integration/*.test.ts'],
    },
    // Long: only by `npm run test:long` (the script `jest` leaves it out).
    { ...base, displayName: 'adversary', testMatch: ['<rootDir>/test/adversary/*.test.ts'] },
  ],
};
