/** The only transform is Node's own: it strips types and changes nothing else (tsc checks the types). */
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

const onControlPlanes = (displayName, ...testMatch) => ({
  ...project(displayName, ...testMatch),
  setupFiles: ['<rootDir>/test/support/environment/reset-returned.ts'],
});

export default {
  // Only for tests that hang: the integration tests wait for a real API server. (Jest ignores it in a project.)
  testTimeout: 240 * SECOND,
  // The integration tests mostly wait, so four run in parallel, also on two cores.
  maxWorkers: 4,
  reporters: ['default', '<rootDir>/test/support/closing-lines.js'],
  projects: [
    project(
      'unit',
      '{functions,webhook,kubectl,examples,hack}/**/*.test.ts',
      'test/{cluster,e2e,support}/**/*.test.ts',
    ),
    project('static', 'test/contract/static/*.test.ts'),
    project('contract', 'test/contract/*.test.ts'),
    project('simulation', 'test/simulation/**/*.test.ts'),
    onControlPlanes('integration', 'test/integration/**/*.test.ts'),
    // Runs after all others, on their recorded requests (test/rights).
    project('rights', 'test/rights/*.test.ts'),
    { ...onControlPlanes('long', 'test/**/*.long.test.ts'), testPathIgnorePatterns: ['/node_modules/'] },
    { ...project('soak', 'test/**/*.soak.test.ts'), testPathIgnorePatterns: ['/node_modules/'] },
  ],
};
