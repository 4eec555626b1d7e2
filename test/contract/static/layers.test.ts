import { globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { PURE } from '../../../hack/pure-files.ts';

/** From top to bottom: a file and its tests import from their own row and the rows below. A folder means the files directly in it. */
const LAYERS = {
  functions: [
    ['functions/main.ts', 'functions/index.ts'],
    ['functions/registry.ts'],
    ['functions/steps.ts'],
    [
      ...[
        'functions/feasibility',
        'functions/lock',
        'functions/raise',
        'functions/lower',
        'functions/unlock',
      ],
      'functions/progress',
      'functions/live/function.ts',
      'functions/live/function.test.ts',
      'functions/live/migrations-at-once.test.ts',
      'functions/live/checks-at-once.test.ts',
    ],
    ['functions/live/migration', 'functions/live/watcher'],
    ['functions/live/plan'],
    ['functions/live/context.ts'],
    ['functions/live/read', 'functions/live/status'],
    ['functions/live/findings', 'functions/live/steps'],
    ['functions/live/guest', 'functions/live/on-target'],
    ['functions/live/run'],
    ['functions/host'],
    ['functions/eventing'],
    ['functions/cluster'],
    ['functions/kubernetes'],
    ['functions/domain/live'],
    ['functions/domain/verdict'],
    ['functions/domain/view'],
    ['functions/domain/sizing'],
    ['functions/domain/quota'],
    ['functions/domain/policy'],
    ['functions/domain', 'functions/domain/progress'],
    ['functions/runtime'],
    ['functions/server'],
  ],
  webhook: [
    ['webhook/main.ts'],
    ['webhook/dispatch-review.ts', 'webhook/malformed-reviews.test.ts', 'webhook/forklift-reviews.test.ts'],
    ['webhook/watchdog'],
    ['webhook/live'],
    ['webhook/admission'],
    ['webhook/observability'],
    ['webhook/tls'],
    ['webhook/maintenance'],
    ['webhook/view'],
  ],
  kubectl: [
    ['kubectl/main.ts'],
    ['kubectl/program.ts', 'kubectl/program.test.ts', 'kubectl/foreign-text.test.ts'],
    ['kubectl/completion'],
    [
      'kubectl/explain',
      'kubectl/preflight',
      'kubectl/progress',
      'kubectl/status',
      'kubectl/trust',
      'kubectl/unlock',
    ],
    ['kubectl/flags.ts', 'kubectl/subcommand.ts'],
    ['kubectl/cluster'],
    ['kubectl/terminal'],
  ],
} as const;
const IMPORT = /^(?:import|export) [^;']*\bfrom '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;
const VALUE_IMPORT = /^(?:import|export) (?!type )[^;']*\bfrom '(\.[^']+)'/gm;

const isTest = (file: string): boolean => file.endsWith('.test.ts');
const sources = (folder: string): string[] => globSync(`${folder}/**/*.ts`);
const importsOf = (file: string, pattern = IMPORT): string[] =>
  [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, one, other]) =>
    join(dirname(file), one ?? other ?? ''),
  );
const valueImportsOf = (file: string): string[] => importsOf(file, VALUE_IMPORT);

describe.each(Object.entries(LAYERS))('%s', (folder, layers) => {
  const rowOf = (file: string): number =>
    layers.findIndex((row: readonly string[]) => row.includes(file) || row.includes(dirname(file)));

  test('has a layer for every file', () => {
    expect(sources(folder).filter((file) => rowOf(file) === -1)).toEqual([]);
  });

  test('imports nothing from a layer above', () => {
    const upwards = sources(folder).flatMap((file) =>
      importsOf(file)
        .filter((other) => other.startsWith(`${folder}/`) && rowOf(other) < rowOf(file))
        .map((other) => `${file} → ${other}`),
    );
    expect(upwards).toEqual([]);
  });
});

/**
 * The folders from which a folder imports, beside itself: the guard and the plugin import the functions; the local cluster imports no tool but
 * the frame of npm scripts. Only
 * test/contract and test/integration import from every folder.
 */
const BELOW = {
  functions: [],
  webhook: ['functions'],
  kubectl: ['functions', 'package.json'],
  // Its image has nothing else of the functions.
  examples: ['functions/domain/dns-name.ts', 'functions/server'],
  hack: ['functions', 'webhook', 'kubectl', 'test/cluster', 'test/support'],
  'test/cluster': ['functions', 'webhook', 'hack/script.ts'],
  'test/support': ['functions', 'webhook', 'kubectl', 'examples/serve.ts', 'test/cluster'],
  'test/rights': ['functions', 'test/cluster', 'test/support'],
  'test/simulation': ['functions', 'webhook', 'test/cluster', 'test/support', 'hack/script.ts'],
  'test/e2e': ['functions', 'test/cluster', 'test/support', 'hack/script.ts'],
  'test/adversary': ['functions', 'test/cluster', 'test/support'],
};
/** Tests that are beside their code import these too. */
const FOR_TESTS = ['test/cluster', 'test/support'];

test.each(Object.entries(BELOW))('%s imports only what lies below it', (folder, below) => {
  const upwards = sources(folder).flatMap((file) => {
    const allowed = [folder, ...below, ...(isTest(file) ? FOR_TESTS : [])];
    return importsOf(file)
      .filter((other) => !allowed.some((one) => other === one || other.startsWith(`${one}/`)))
      .map((other) => `${file} → ${other}`);
  });
  expect(upwards).toEqual([]);
});

/** The files that Node loads with this one; `import()` loads later. */
function loadedWith(file: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  for (const other of valueImportsOf(file)) loadedWith(other, loaded);
  return loaded;
}

test('a guard that issues no certificate loads no encoder of them', () => {
  expect([...loadedWith('webhook/main.ts')]).not.toContain('webhook/tls/x509.ts');
});

test('every schema of the processes is made by functions/runtime/zod.ts', () => {
  const importing = globSync('{functions,webhook,kubectl}/**/*.ts').filter((file) =>
    /'zod(?:\/[^']*)?'/.test(readFileSync(file, 'utf8')),
  );
  expect(importing).toEqual(['functions/runtime/zod.ts']);
});

test('every file that calls itself pure is linted as such (hack/pure-files.ts)', () => {
  const claiming = globSync('{functions,webhook,kubectl,examples,hack,test}/**/*.ts').filter(
    (file) => !isTest(file) && /^\s*(\/\*)?\*.*\bpure\b/im.test(readFileSync(file, 'utf8')),
  );
  expect(claiming.length).toBeGreaterThan(0);
  expect(claiming.filter((file) => !PURE.some((pattern) => matchesGlob(file, pattern)))).toEqual([]);
});

test('every entry of the pure files exists', () => {
  expect(PURE.flatMap(alternatives).filter((pattern) => globSync(pattern).length === 0)).toEqual([]);
});

test('a pure file imports values only from pure files', () => {
  const files = PURE.flatMap((pattern) => globSync(pattern)).filter((file) => !isTest(file));
  const impure = files.flatMap((file) =>
    valueImportsOf(file)
      .filter((other) => !files.includes(other))
      .map((other) => `${file} → ${other}`),
  );
  expect(impure).toEqual([]);
});

/** A pattern for each name in the braces, because a glob matches if one of them exists. */
function alternatives(pattern: string): string[] {
  const [, before, names, after] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [];
  return names?.split(',').map((name) => `${before ?? ''}${name}${after ?? ''}`) ?? [pattern];
}
