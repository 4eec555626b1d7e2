import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../cluster/controlplane/exit.ts';

/** The built bundle. */
const PLUGIN = fileURLToPath(new URL('../../dist/kubectl/kubectl-vmmrq', import.meta.url));
const { version, engines } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string; engines: { node: string } };

/** The plugin's oldest Node is that of the project. */
const OLDEST = Number(/^>=(\d+)/.exec(engines.node)?.[1]);
const NEEDS = `kubectl vmmrq needs Node ${String(OLDEST)} or newer, and`;

const folder = temporaryFolder('mtq launcher-');
afterAll(() => folder.remove());

const WITH_NODE = dirname(process.execPath);

/** A folder whose `node` says that it is of this version. */
function withNode(pretended: string): string {
  const path = join(folder.path, pretended);
  const preload = join(path, 'pretend.cjs');
  mkdirSync(path);
  writeFileSync(preload, `Object.defineProperty(process, 'version', { value: '${pretended}' });\n`);
  writeFileSync(join(path, 'node'), `#!/bin/sh\nexec '${process.execPath}' --require '${preload}' "$@"\n`);
  chmodSync(join(path, 'node'), 0o755);
  return path;
}

/** Runs the plugin as kubectl does; returns its exit code and what it prints. */
const run = (path: string, args: readonly string[], file = PLUGIN): Promise<[number, string, string]> =>
  new Promise((resolve) => {
    execFile(file, args, { env: { PATH: path } }, (error, stdout, stderr) =>
      resolve([typeof error?.code === 'number' ? error.code : 0, stdout, stderr]),
    );
  });

const ARGS: readonly (readonly string[])[] = [['--version'], ['status', '-A'], ['__complete', 'expl']];

describe('kubectl vmmrq', () => {
  test.each(ARGS)('%s without a node: says so in one line', async (...args) => {
    expect(await run(join(folder.path, 'nothing'), args)).toEqual([
      ...[2, ''],
      `${NEEDS} there is no node on the PATH.\n`,
    ]);
  });

  test.each(['v4.9.1', 'v20.20.2', `v${String(OLDEST - 1)}.11.1`])(
    'with Node %s: says so in one line',
    async (other) => {
      const path = withNode(other);
      for (const args of ARGS)
        expect(await run(path, args)).toEqual([...[2, ''], `${NEEDS} the node on the PATH is ${other}.\n`]);
    },
  );

  test.each([`v${String(OLDEST)}.0.0`, `v${String(OLDEST + 1)}.0.0`, 'v100.1.0'])(
    'with Node %s: runs',
    async (other) => {
      expect(await run(withNode(other), ['--version'])).toEqual([0, `${version}\n`, '']);
    },
  );

  test('runs by a link too, as krew makes one', async () => {
    const link = join(folder.path, 'kubectl-vmmrq');
    symlinkSync(PLUGIN, link);
    expect(await run(WITH_NODE, ['--version'], link)).toEqual([0, `${version}\n`, '']);
  });

  test('gets its arguments as they are', async () => {
    const [code, , stderr] = await run(WITH_NODE, [`it's "a b"\n$HOME *`]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`it's "a b"`)]);
    expect(stderr).toContain('$HOME *');
  });
});

test('docs/maintenance.md says which Node it needs', () => {
  const docs = readFileSync(new URL('../../docs/maintenance.md', import.meta.url), 'utf8');
  expect(docs).toContain(`Node ${String(OLDEST)} or newer`);
});
