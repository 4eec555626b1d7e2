import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { loadScenarios } from '../../e2e/scenario.ts';
import { askUntil } from '../../support/eventually.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';

/** `npm run test:e2e` against the local cluster instead of a real one. */
const MAIN = fileURLToPath(new URL('../../e2e/main.ts', import.meta.url));
const LOCAL = ['kubevirt', 'knative', 'deployments'].flatMap((name) => ['--stand-in', name]);

/** The time for six namespaces to come and go. */
const LONG_MS = 300_000;

let environment: TestEnvironment;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mtq-e2e-'));
  environment = await startTestEnvironment();
});

afterAll(async () => {
  await environment.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Run {
  readonly code: number | null;
  readonly output: string;
  readonly report: string;
}

async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  meanwhile: (child: ChildProcess) => Promise<void> = () => Promise.resolve(),
): Promise<Run> {
  const file = join(folder, 'junit.xml');
  await rm(file, { force: true });
  const child = spawn(process.execPath, [MAIN, '--junit', file, ...args], {
    env: { PATH: process.env['PATH'], KUBECONFIG: environment.cluster.controlPlane.adminKubeconfig, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => lines.push(String(data)));
  const [[code]] = (await Promise.all([once(child, 'close'), meanwhile(child)])) as [
    [number | null],
    undefined,
  ];
  return { code, output: lines.join(''), report: await readFile(file, 'utf8').catch(() => '') };
}

const leftOver = async (): Promise<string[]> =>
  (await environment.admin.list(NAMESPACES, { labelSelector: 'mtq-e2e/run' })).items.map(
    ({ metadata }) => metadata.name,
  );

test(
  'every scenario passes, is in the JUnit report, and leaves nothing behind',
  async () => {
    const names = (await loadScenarios()).map(({ name }) => name);
    const { code, output, report } = await run([...LOCAL, '--parallel', '3']);
    process.stdout.write(output);
    expect([code, output]).toEqual([
      0,
      expect.stringContaining(`${String(names.length + 1)} passed, 0 failed`),
    ]);
    const passed = [...report.matchAll(/<testcase [^>]* name="([^"]*)"[^>]*\/>/g)].map(([, name]) => name);
    expect(passed.toSorted()).toEqual(['installation', ...names].toSorted());
    expect(await leftOver()).toEqual([]);
  },
  LONG_MS,
);

test('a mismatch fails, reports the missing part, and also leaves nothing behind', async () => {
  // Without events no step raises, in every admission mode.
  const { broker } = environment.cluster.eventing;
  broker.lose(() => true);
  const { code, output, report } = await run([...LOCAL, '--scenario', 'through'], { E2E_THEN_SECONDS: '5' });
  broker.lose(undefined);
  const said = 'VirtualMachineInstanceMigration migration: .status.phase is';
  expect([code, output]).toEqual([1, expect.stringContaining(said)]);
  expect(report).toContain('failures="1"');
  expect(report).toContain(said);
  expect(await leftOver()).toEqual([]);
});

test('Ctrl-C in the middle of a run removes all its objects, and fails the run', async () => {
  const { code, report } = await run([...LOCAL, '--scenario', 'through'], {}, async (child) => {
    await askUntil('it has made something', leftOver, (names) => names.length > 0);
    child.kill('SIGINT');
  });
  expect(code).toBe(1);
  expect(report).toContain('failures="1"');
  expect(await leftOver()).toEqual([]);
});

test('without Knative the installation check fails, unless a stand-in is named', async () => {
  const { code, output } = await run([], { E2E_INSTALLED_SECONDS: '1' });
  expect([code, output]).toEqual([1, expect.stringContaining('FAIL installation')]);
  expect(await leftOver()).toEqual([]);
});
