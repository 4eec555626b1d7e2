import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';
import { PURE } from './hack/pure-files.ts';

/** Kinds that tenants may store in any number and size, and that our code never replaces. */
const TENANTS = 'PODS|EVENTS|LIMIT_RANGES|CLAIMS|MIGRATIONS|VMIS';
const TESTS = ['**/*.test.ts', 'test/**/*.ts'];

const onlyIn = (folder, name) => ({
  name,
  message: `Only ${folder} may import ${name} (docs/development.md#where-things-are).`,
});
const CLIENT_NODE = onlyIn('functions/kubernetes', '@kubernetes/client-node');
const CLOUDEVENTS = onlyIn('functions/eventing', 'cloudevents');
const EXPRESS = onlyIn('webhook', 'express');
const COMMANDER = onlyIn('kubectl and hack/script.ts', 'commander');
const PROM_CLIENT = {
  name: 'prom-client',
  allowTypeImports: true,
  message:
    'Its root loads OpenTelemetry: import from prom-client/lib (webhook/observability/prom-client.d.ts).',
};

export default defineConfig(
  globalIgnores(['dist', 'out', 'node_modules', 'coverage', 'test/cluster/controlplane/binaries/*/']),
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      complexity: ['error', 10],
      'max-depth': ['error', 3],
      'max-params': ['error', 4],
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      'max-statements': ['error', 20],
      'no-console': 'error',
      eqeqeq: 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // Typed API clients use a type parameter only for the shape of an answer.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      'no-restricted-imports': [
        'error',
        { paths: [CLIENT_NODE, CLOUDEVENTS, COMMANDER, EXPRESS, PROM_CLIENT] },
      ],
    },
  },
  {
    files: ['functions/kubernetes/**/*.ts'],
    rules: { 'no-restricted-imports': ['error', { paths: [CLOUDEVENTS, COMMANDER, EXPRESS, PROM_CLIENT] }] },
  },
  {
    files: ['kubectl/**/*.ts', 'hack/script.ts'],
    rules: {
      'no-restricted-imports': ['error', { paths: [CLIENT_NODE, CLOUDEVENTS, EXPRESS, PROM_CLIENT] }],
    },
  },
  {
    files: ['kubectl/cluster/session.ts'],
    rules: { 'no-restricted-imports': ['error', { paths: [CLOUDEVENTS, COMMANDER, EXPRESS, PROM_CLIENT] }] },
  },
  {
    files: ['examples/**/*.ts'],
    rules: {
      'no-restricted-imports': ['error', { paths: [CLIENT_NODE, COMMANDER, EXPRESS, PROM_CLIENT] }],
    },
  },
  {
    files: ['functions/host/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        { paths: [CLIENT_NODE, { ...CLOUDEVENTS, allowTypeImports: true }, EXPRESS, PROM_CLIENT] },
      ],
    },
  },
  {
    files: ['functions/eventing/**/*.ts', 'functions/host/**/*.test.ts'],
    rules: { 'no-restricted-imports': ['error', { paths: [CLIENT_NODE, EXPRESS, PROM_CLIENT] }] },
  },
  {
    files: ['webhook/**/*.ts'],
    rules: { 'no-restricted-imports': ['error', { paths: [CLIENT_NODE, CLOUDEVENTS, PROM_CLIENT] }] },
  },
  {
    files: ['functions/**/*.ts', 'webhook/**/*.ts'],
    ignores: TESTS,
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: `CallExpression[callee.property.name='list'] > Identifier.arguments:first-child[name=/^(${TENANTS})$/]`,
          message: 'Tenants store these: list what is read of them (functions/cluster/listed.ts).',
        },
      ],
    },
  },
  {
    files: PURE,
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: [CLIENT_NODE, CLOUDEVENTS, COMMANDER, EXPRESS, PROM_CLIENT],
          patterns: [
            { group: ['node:*'], message: 'A decision is pure: no Node built-ins.' },
            {
              group: ['**/cluster/**', '**/kubernetes/**', '**/eventing/**', '**/host/**', '**/handle.ts'],
              allowTypeImports: true,
              message: 'A decision reads a snapshot; reading and writing are elsewhere.',
            },
            {
              group: ['**/runtime/*', '!**/runtime/limits.ts', '!**/runtime/zod.ts'],
              allowTypeImports: true,
              message: 'A decision has no clock and no timers.',
            },
          ],
        },
      ],
      'no-restricted-globals': [
        'error',
        ...[
          'process',
          'fetch',
          'setTimeout',
          'setInterval',
          'setImmediate',
          'queueMicrotask',
          'crypto',
          'performance',
          'Buffer',
        ].map((name) => ({ name, message: 'A decision is pure: pass it in as a value.' })),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'The clock is an argument.' },
        { object: 'Math', property: 'random', message: 'Randomness is an argument.' },
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'NewExpression[callee.name="Date"][arguments.length=0]',
          message: 'The clock is an argument.',
        },
      ],
    },
  },
  {
    files: [...TESTS, 'hack/**/*.ts'],
    rules: { 'max-statements': 'off', 'max-lines': 'off' },
  },
  // It declares the modules that the rule recommends.
  { files: ['webhook/observability/prom-client.d.ts'], rules: { 'no-restricted-imports': 'off' } },
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly' } },
  },
);
