import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SCRIPT = 'hack/kind/kind.sh';

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const bash = (...args: readonly string[]): { status: number | null; stdout: string; stderr: string } =>
  spawnSync('bash', args, { cwd: ROOT, encoding: 'utf8' });
/** The first group of each match. */
const matches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, group = '']) => group);

/** No container engine runs here, so these tests read the script of `npm run kind` (docs/installing.md). */
describe('npm run kind', () => {
  const script = read(SCRIPT);

  test('is the script, and bash can parse it', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    expect(scripts['kind']).toBe(`bash ${SCRIPT}`);
    const { status, stderr } = bash('-n', SCRIPT);
    expect([status, stderr]).toEqual([0, '']);
  });

  test('has a function for each step of its help, and runs all but delete by default', () => {
    const listed = matches(bash(SCRIPT, '--help').stdout, /^ {2}(\w+) /gm);
    expect(matches(script, /^step_(\w+)\(\) \{$/gm)).toEqual(listed);
    expect(matches(script, / set -- (.+)$/gm)).toEqual([
      listed.filter((step) => step !== 'delete').join(' '),
    ]);
  });

  test('refuses an unknown step before it does anything', () => {
    const { status, stderr } = bash(SCRIPT, 'cluster', 'clutser');
    expect([status, stderr]).toEqual([2, expect.stringContaining("unknown step 'clutser'")]);
  });

  test('uses each version of versions.env, and states no version itself', () => {
    const versions = matches(read('hack/kind/versions.env'), /^(\w+)=\S+$/gm);
    expect(versions.length).toBeGreaterThan(0);
    expect(versions.filter((name) => !script.includes(`$${name}`))).toEqual([]);
    expect(matches(script, /^(?! *#).*?\b(v\d+\.\d+\S*)/gm)).toEqual([]);
  });

  test('names files and npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const files = matches(script, /(?<![\w:/-]\/?)((?:\.\.\/)*(?:config|docs|hack|test)\/[\w./-]*\w)/g);
    expect(files).toContain('../../../config/base');
    expect(files.filter((file) => !existsSync(join(ROOT, file.replaceAll('../', ''))))).toEqual([]);
    const used = matches(script, /\bnpm run (\w+(?::\w+)*)/g);
    expect(used).toContain('test:e2e');
    expect(used.filter((name) => !(name in scripts))).toEqual([]);
  });

  test('makes a cluster of one control plane and two workers', () => {
    const cluster = parse(read('hack/kind/cluster.yaml')) as { kind: string; nodes: { role: string }[] };
    expect([cluster.kind, cluster.nodes.map(({ role }) => role).sort()]).toEqual([
      'Cluster',
      ['control-plane', 'worker', 'worker'],
    ]);
  });
});
