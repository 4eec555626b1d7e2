/** One transform, Node's own: types are stripped, nothing else is changed (tsc checks them). */
const base = {
  rootDir: '.',
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/support/strip-types.js' },
};

const SECOND = 1_000;
/** Tests of the tiers above `npm test` (docs/development.md). */
const HIGHER = '\\.(long|soak)\\.test\\.ts$';

const project = (displayName, ...testMatch) => ({
  ...base,
  displayName,
  testMatch: testMatch.map((pattern) => `<rootDir>/${pattern}`),
  testPathIgnorePatterns: ['/node_modules/', HIGHER],
});

export default {
  // Only a bound on what hangs: the integration tests wait for a real API server. (Jest ignores it in a project.)
  testTimeout: 240 * SECOND,
  // The integration tests wait more than they compute: four at a time, on two cores as well.
  maxWorkers: 4,
  reporters: ['default', '<rootDir>/test/support/closing-lines.js'],
  projects: [
    project('unit', '{functions,webhook,hack}/**/*.test.ts', 'test/{cluster,e2e,support}/**/*.test.ts'),
    project('static', 'test/contract/static/*.test.ts'),
    project('contract', 'test/contract/*.test.ts'),
    project('simulation', 'test/simulation/**/*.test.ts'),
    project('integration', 'test/integration/**/*.test.ts'),
    // After all others, on what they left (test/rights).
    project('rights', 'test/rights/*.test.ts'),
    { ...project('long', 'test/**/*.long.test.ts'), testPathIgnorePatterns: ['/node_modules/'] },
    { ...project('soak', 'test/**/*.soak.test.ts'), testPathIgnorePatterns: ['/node_modules/'] },
  ],
};
