import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { Recorded } from '../eventually.ts';
import type { TestEnvironment } from './test-environment.ts';
import { bindRole, untilAllowed } from './roles.ts';

/** The built bundle, as kubectl would run it. */
const BUNDLE = fileURLToPath(new URL('../../../dist/kubectl/kubectl-vmmrq', import.meta.url));

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type RunPlugin = (...args: readonly string[]) => Promise<Ran>;

const VIEWER = { name: 'tina', groups: ['viewers'] };
const ROLE = 'managed-tenant-quota-plugin-view';

/** The kubeconfig of a user with the installed role to read, and no other right. */
export async function kubeconfigOfViewer({ admin, cluster }: TestEnvironment): Promise<string> {
  await bindRole(admin, { role: ROLE, user: VIEWER.name });
  await untilAllowed(admin, VIEWER.name, { verb: 'list', resource: 'pods', allowed: true });
  return cluster.controlPlane.kubeconfigForUser(VIEWER);
}

/** Runs the plugin with a kubeconfig; without colours, because its output is no terminal. */
export const runWith =
  (kubeconfig: string): RunPlugin =>
  (...args) =>
    new Promise((resolve) => {
      execFile(
        process.execPath,
        [BUNDLE, ...args],
        { env: environmentOf(kubeconfig) },
        (error, stdout, stderr) =>
          resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
      );
    });

const RIGHTLESS = { name: 'theo', groups: ['editors'] };

/** A user with no role of the plugin gets the list of the rights that this command needs, `rights` among them, and exit code 2. */
export async function expectRightsMissing(
  { cluster }: Pick<TestEnvironment, 'cluster'>,
  args: readonly string[],
  rights: readonly string[],
): Promise<void> {
  const run = runWith(await cluster.controlPlane.kubeconfigForUser(RIGHTLESS));
  const { code, stdout, stderr } = await run(...args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr.split('\n')).toEqual(
    expect.arrayContaining(['error: you lack these rights:', ...rights.map((right) => `  ${right}`)]),
  );
}

const environmentOf = (kubeconfig: string): NodeJS.ProcessEnv => ({ ...process.env, KUBECONFIG: kubeconfig });

/** The plugin while it runs. */
export interface RunningPlugin {
  /** Of both streams. */
  readonly lines: Recorded<string>;
  /** Its exit code; undefined: it was stopped. */
  readonly ended: Promise<number | undefined>;
  readonly stop: () => Promise<void>;
}

/** Starts the plugin with a kubeconfig, and records what it prints. */
export function startPlugin(kubeconfig: string, ...args: readonly string[]): RunningPlugin {
  const lines = new Recorded<string>((line) => line);
  const child = spawn(process.execPath, [BUNDLE, ...args], {
    env: environmentOf(kubeconfig),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => lines.add(line));
  }
  const ended = new Promise<number | undefined>((resolve) => {
    child.on('close', (code) => resolve(code ?? undefined));
  });
  return {
    lines,
    ended,
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}
