import { globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { PURE } from '../../../hack/pure-files.ts';

/** From top to bottom: a file imports from its own row and the rows below. A folder means the files directly in it. */
const LAYERS = {
  functions: [
    ['functions/main.ts', 'functions/index.ts'],
    ['functions/steps.ts'],
    ['functions/feasibility', 'functions/lock', 'functions/raise', 'functions/lower', 'functions/unlock'],
    ['functions/host'],
    ['functions/eventing'],
    ['functions/cluster'],
    ['functions/kubernetes'],
    ['functions/domain/verdict'],
    ['functions/domain/sizing'],
    ['functions/domain/quota'],
    ['functions/domain'],
    ['functions/runtime'],
  ],
  webhook: [
    ['webhook/main.ts'],
    ['webhook/watchdog'],
    ['webhook/admission'],
    ['webhook/observability'],
    ['webhook/tls'],
    ['webhook/view'],
  ],
} as const;
const IMPORT = /\bfrom '(\.[^']+)'|\bimport\('(\.[^']+)'\)/g;
const VALUE_IMPORT = /^(?:import|export) (?!type )[^;]*?\bfrom '(\.[^']+)'/gm;

const sources = (folder: string): string[] =>
  globSync(`${folder}/**/*.ts`).filter((file) => !file.endsWith('.test.ts'));
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

/** The folders from which a top folder may import: the guard imports the functions; the local cluster imports no tool. */
const ALLOWED: Readonly<Record<string, RegExp>> = {
  functions: /^functions\//,
  webhook: /^(functions|webhook)\//,
  'test/cluster': /^(functions|webhook|test\/cluster)\//,
  hack: /^(functions|webhook|hack|test\/cluster)\//,
};

test.each(Object.entries(ALLOWED))('%s imports only what lies below it', (folder, allowed) => {
  const upwards = sources(folder).flatMap((file) =>
    importsOf(file)
      .filter((other) => !allowed.test(other))
      .map((other) => `${file} → ${other}`),
  );
  expect(upwards).toEqual([]);
});

test('every file that calls itself pure is linted as such (hack/pure-files.ts)', () => {
  const claiming = globSync('{functions,webhook,hack,test}/**/*.ts').filter(
    (file) => !file.endsWith('.test.ts') && /^\s*(\/\*)?\*.*\bpure\b/im.test(readFileSync(file, 'utf8')),
  );
  expect(claiming.length).toBeGreaterThan(0);
  expect(claiming.filter((file) => !PURE.some((pattern) => matchesGlob(file, pattern)))).toEqual([]);
});

test('every entry of the pure files exists', () => {
  expect(PURE.flatMap(alternatives).filter((pattern) => globSync(pattern).length === 0)).toEqual([]);
});

test('a pure file imports values only from pure files', () => {
  const files = PURE.flatMap((pattern) => globSync(pattern)).filter((file) => !file.endsWith('.test.ts'));
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
