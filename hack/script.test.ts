import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { fileURLToPath } from 'node:url';

const SCRIPT = JSON.stringify(new URL('script.ts', import.meta.url).href);
const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs a script with this `main` in a process. */
function run(main: string): { status: number | null; stderr: string } {
  const program = `
    const { InvalidArgumentError, newScript, runScript } = await import(${SCRIPT});
    await runScript(newScript('some', 'Does something.'), async () => { ${main} });`;
  const args = ['--input-type=module', '--eval', program];
  return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
}

test.each<[what: string, main: string, status: number, stderr: RegExp]>([
  ['0 at the end', 'return true', 0, /^$/],
  ['1 if something is wrong', 'return false', 1, /^$/],
  [
    '1 for a failure, with its cause and no stack',
    "throw new Error('no API server', { cause: new Error('refused') })",
    1,
    /^error: no API server \(refused\)\n$/,
  ],
  [
    '1 for a failure of some kind, without the class',
    "throw Object.assign(new Error('KUBECONFIG'), { name: 'NoApiServer' })",
    1,
    /^error: KUBECONFIG\n$/,
  ],
  ['1 for a defect, with its stack', 'undefined.x', 1, /^TypeError: Cannot read .*\n +at /],
  [
    '2 for what its flags lack, with the usage',
    "throw new InvalidArgumentError('KUBECONFIG is not set')",
    2,
    /^error: KUBECONFIG is not set\n\nUsage: npm run some -- \[options\]\n/,
  ],
  ['that of a signal, without a failure after it', "process.exitCode = 130; throw new Error('x')", 130, /^$/],
])('exits with %s', (_, main, status, stderr) => {
  expect(run(main)).toMatchObject({ status, stderr: expect.stringMatching(stderr) });
});
