import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { temporaryFolder, type TemporaryFolder } from '../cluster/controlplane/exit.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** The npm scripts that are our own programs, with their flags. */
const OURS: Readonly<Record<string, readonly string[]>> = {
  build: [],
  image: ['--tag', '--platform', '--push'],
  kind: [],
  pack: [],
  'single-binary': ['--platform', '--out'],
  sbom: [],
  demo: ['--scenario', '--clusters', '--verbose', '--picture'],
  bench: [
    ...['--cycles', '--json', '--profile', '--only', '--against', '--scale', '--finished', '--preflight'],
    '--moves',
  ],
  local: [],
  outside: ['--install', '--admission-mode', '--port', '--tls-port'],
  binaries: [],
  manifests: ['--overlay', '--with', '--out'],
  'manifests:admission': [],
  reference: [],
  simulate: ['--runs', '--seed', '--mutation', '--trace', '--find-seeds'],
  'simulate:live': ['--runs', '--seed', '--workers', '--mutation', '--trace', '--find-seeds'],
  'simulate:burst': ['--runs', '--seed', '--given', '--limits', '--detail', '--trace'],
  'test:e2e': ['--stand-in', '--scenario', '--parallel', '--junit', '--keep'],
};
/** The others: a server, and chains of other tools. */
const OTHERS = /^(?:start|preversion|version|test|test:(?!e2e$).+|jest|rights|verify|lint|types|format.*)$/;

/** What a script may start before it knows its flags. */
const PROGRAMS = ['bash', 'cat', 'dirname'];

let folder: TemporaryFolder;
/** Empty: for what a script must not write. */
let empty: string;
let env: Readonly<Record<string, string>>;
beforeAll(() => {
  folder = temporaryFolder('mtq-scripts-');
  empty = join(folder.path, 'empty');
  const PATH = join(folder.path, 'bin');
  for (const each of [empty, PATH]) mkdirSync(each);
  symlinkSync(process.execPath, join(PATH, 'node'));
  for (const name of PROGRAMS) {
    const path = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    symlinkSync(path, join(PATH, name));
  }
  env = {
    ...{ PATH, HOME: empty, XDG_CACHE_HOME: empty, TMPDIR: empty },
    // Half of a start is the compilation of the same packages.
    NODE_COMPILE_CACHE: join(folder.path, 'compiled'),
  };
});
afterAll(() => folder.remove());

interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the last command of an npm script, as npm would after the ones that set up; or any other command. */
function run(
  name: string,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const command = (scripts[name] ?? name).split(' && ').at(-1) ?? '';
  const options = { cwd: root, env: { ...env, ...more } };
  return new Promise((resolve) => {
    execFile('/bin/sh', ['-c', `${command} "$@"`, 'sh', ...args], options, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}

const usageOf = (name: string): RegExp =>
  new RegExp(`^Usage: ${name in scripts ? `npm run ${name}` : name}(?: |$)`, 'm');

test('every npm script is one of ours, or a chain of other tools', () => {
  expect(Object.keys(scripts).filter((name) => !OTHERS.test(name))).toEqual(Object.keys(OURS));
});

/** `npm version` runs it, before and after other tools. */
const CHANGELOG = ['node hack/changelog.mjs', ['--check']] as const;

describe.each([...Object.entries(OURS), CHANGELOG])('%s', (name, flags) => {
  test('-- --help prints its usage and its flags, and starts nothing', async () => {
    const { code, stdout, stderr } = await run(name, ['--help']);
    expect([code, stderr, stdout]).toEqual([0, '', expect.stringMatching(usageOf(name))]);
    const described = [...stdout.matchAll(/^ +(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag);
    expect(described.toSorted()).toEqual([...flags, '--help'].toSorted());
    expect(readdirSync(empty)).toEqual([]);
  });

  test('-- --no-such-flag is refused with the usage, and starts nothing', async () => {
    const { code, stdout, stderr } = await run(name, ['--no-such-flag']);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(usageOf(name))]);
    expect(stderr).toMatch(/^error: .*--no-such-flag/);
    expect(readdirSync(empty)).toEqual([]);
  });
});

const KUBECONFIG = '/none';

test.each<[name: string, args: string[], env: Record<string, string>, message: string]>([
  ['image', [], {}, '--tag is missing'],
  ['kind', ['clutser'], {}, "unknown step 'clutser'"],
  ['pack', ['one', 'two'], {}, 'too many arguments'],
  ['demo', ['--clusters', '--scenario', 'drain'], {}, "'--clusters' cannot be used with option '--scenario"],
  ['manifests', ['--with', 'none'], {}, 'Allowed choices are '],
  ['simulate', ['--seed', '1.5'], {}, 'a whole number of at least 0'],
  ['simulate', ['--mutation', 'none'], {}, 'Allowed choices are:\n  '],
  ['test:e2e', [], {}, 'KUBECONFIG is not set'],
  ['test:e2e', ['--parallel', '100'], { KUBECONFIG }, 'a whole number from 1 to 99'],
  ['test:e2e', [], { KUBECONFIG, E2E_THEN_SECONDS: 'soon' }, 'E2E_THEN_SECONDS'],
])('npm run %s refuses %j %j', async (name, args, more, message) => {
  const { code, stdout, stderr } = await run(name, args, more);
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
  expect(stderr).toMatch(usageOf(name));
});

describe('a folder that cannot be written', () => {
  // Not even root can write there.
  const NONE = '/dev/null/none';

  test('names TMPDIR', async () => {
    const { code, stderr } = await run('manifests', ['--out', join(folder.path, 'out')], {
      IMAGE: 'mtq:1',
      TMPDIR: NONE,
    });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^error: \/dev\/null\/none .*: set TMPDIR to .*\n$/),
    ]);
  });

  test('names XDG_CACHE_HOME', async () => {
    const go = join(folder.path, 'bin', 'go');
    writeFileSync(go, '#!/bin/sh\necho go version go1.26.0\n');
    chmodSync(go, 0o755);
    const { code, stderr } = await run('binaries', [], { XDG_CACHE_HOME: NONE });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^error: \/dev\/null\/none\/.*: set XDG_CACHE_HOME to .*\n$/m),
    ]);
  });
});
