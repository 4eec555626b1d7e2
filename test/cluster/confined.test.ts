import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { confined } from './confined.ts';

let folder: string;
let kubeconfig: string;
let clock: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mtq-confined-'));
  kubeconfig = join(mkdtempSync(join(folder, 'elsewhere-')), 'kubeconfig');
  writeFileSync(kubeconfig, 'a kubeconfig');
  clock = join(mkdtempSync(join(folder, 'preloaded-')), 'clock.mjs');
  writeFileSync(clock, 'globalThis.clock = 13');
  writeFileSync(join(folder, 'kubeconfig-of-somebody-else'), 'another');
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the script like the project's processes on this machine; resolves with its output: the error's code, or "done". */
const tryIt = (script: string): Promise<string> => {
  const bundle = join(mkdtempSync(join(folder, 'bundle-')), 'try.mjs');
  const attempt = `await (async () => { ${script} })()`;
  const code = `try { ${attempt}; console.log('done') } catch (error) { console.log(error.code) }`;
  writeFileSync(bundle, `import * as fs from 'node:fs'; ${code}`);
  const env = { KUBECONFIG: kubeconfig, NODE_OPTIONS: `--import=${pathToFileURL(clock).href}` };
  return new Promise((resolve) => {
    execFile(process.execPath, confined(bundle, env), { env }, (_error, stdout) => {
      resolve(stdout.trim());
    });
  });
};

const DENIED = 'ERR_ACCESS_DENIED';
test.each<[string, () => string, string]>([
  ['reads its own code', () => 'fs.readFileSync(import.meta.filename)', 'done'],
  ['reads its kubeconfig', () => `fs.readFileSync('${kubeconfig}')`, 'done'],
  ['reads no other file', () => `fs.readFileSync('${folder}/kubeconfig-of-somebody-else')`, DENIED],
  ['writes nothing beside its code', () => "fs.writeFileSync(import.meta.filename + '.new', '')", DENIED],
  ['writes nothing to the temporary folder', () => `fs.writeFileSync('${tmpdir()}/mtq-written', '')`, DENIED],
  ['starts no process', () => "(await import('node:child_process')).execFileSync('true')", DENIED],
  ['starts no worker', () => "new (await import('node:worker_threads')).Worker('0', { eval: true })", DENIED],
  [
    'has the code that a test preloads',
    () => "if (globalThis.clock !== 13) throw { code: 'not there' }",
    'done',
  ],
  ['serves on a port', () => "(await import('node:http')).createServer().listen(0).close()", 'done'],
])('a process of the project %s', async (_what, script, want) => {
  expect(await tryIt(script())).toBe(want);
});
