import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestEnvironment } from './test-environment.ts';
import { bindRole, untilAllowed } from './roles.ts';

/** The built bundle, as kubectl would run it. */
const BUNDLE = fileURLToPath(new URL('../../dist/kubectl/kubectl-vmmrq', import.meta.url));

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type RunPlugin = (...args: readonly string[]) => Promise<Ran>;

const VIEWER = { name: 'tina', groups: ['viewers'] };
const ROLE = 'managed-tenant-quota-plugin-view';

/** Runs the plugin as a user with the installed role to read, and no other right. */
export async function pluginOfViewer({ admin, cluster }: TestEnvironment): Promise<RunPlugin> {
  await bindRole(admin, { role: ROLE, user: VIEWER.name });
  await untilAllowed(admin, VIEWER.name, { verb: 'list', resource: 'pods', allowed: true });
  return runWith(await cluster.controlPlane.kubeconfigForUser(VIEWER));
}

/** Runs the plugin with a kubeconfig; without colours, because its output is no terminal. */
export const runWith =
  (kubeconfig: string): RunPlugin =>
  (...args) =>
    new Promise((resolve) => {
      const env = { ...process.env, KUBECONFIG: kubeconfig };
      execFile(process.execPath, [BUNDLE, ...args], { env }, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
      );
    });
