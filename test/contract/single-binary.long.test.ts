import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { temporaryFolder, type TemporaryFolder } from '../cluster/controlplane/exit.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const PLUGIN = join(root, 'dist/kubectl/kubectl-vmmrq');
const BUILD_MS = 300_000;

let folder: TemporaryFolder;
let binary: string;
beforeAll(() => {
  folder = temporaryFolder('mtq-single-');
  const platform = `${process.platform}-${process.arch}`;
  const args = ['hack/single-binary.ts', '--platform', platform, '--out', folder.path];
  binary = execFileSync('node', args, { cwd: root, encoding: 'utf8' }).trim();
}, BUILD_MS);
afterAll(() => folder.remove());

/** What a command prints without any program on its PATH, and its exit code. */
function run(file: string, args: readonly string[], env: Readonly<Record<string, string>>): unknown[] {
  const { status, stdout, stderr } = spawnSync(file, args, { env, encoding: 'utf8' });
  return [status, stdout, stderr];
}

test('it needs no node', () => {
  expect(run(binary, ['--version'], { PATH: '' })).toEqual([0, `${version}\n`, '']);
  expect(run(PLUGIN, ['--version'], { PATH: '' })[0]).toBe(2);
});

test.each([[['--help']], [['__complete', 'expl']], [['status', '-A']], [['explain']]])(
  'it answers %j as the plugin does',
  (args) => {
    const { PATH = '' } = process.env;
    const env = { HOME: folder.path, PATH };
    const answer = run(binary, args, env);
    expect(answer).toEqual(run(PLUGIN, args, env));
    expect(answer[0]).toBe(args.includes('status') || args.includes('explain') ? 2 : 0);
  },
);
