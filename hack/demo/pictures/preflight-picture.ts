import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { startLocalCluster } from '../../../test/cluster/cluster.ts';
import { deploy } from '../../../test/cluster/kubevirt/operator.ts';
import { RELEASE } from '../../../test/cluster/kubevirt/objects/release.ts';
import { bundlePlugin } from '../../build.ts';
import { aroundDrain, DRAINED_NODE } from '../runners.ts';
import { PREFLIGHT_TENANTS } from '../scenarios.ts';
import { setUpTenant } from '../tenant.ts';
import type { Shown } from './terminal-picture.ts';
import { Watching } from '../watching.ts';

const TIMEOUT_MS = 120_000;
const ARGS = ['preflight', 'node', DRAINED_NODE];

/** Runs the plugin for a drain of a node with VMs of three tenants, on a real API server. */
export async function showPreflight(): Promise<Shown> {
  const plugin = join(await bundlePlugin(), 'kubectl-vmmrq');
  const cluster = await startLocalCluster({ kubevirt: { drains: true } });
  const { admin, controlPlane } = cluster;
  const watching = new Watching();
  try {
    await deploy(admin, {}, RELEASE);
    await watching.start(admin);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    await aroundDrain(admin, async () => {
      for (const tenant of PREFLIGHT_TENANTS) await setUpTenant(tenant, { admin, watching, signal });
    });
    const output = await run(plugin, controlPlane.adminKubeconfig);
    return { command: ['kubectl vmmrq', ...ARGS].join(' '), output };
  } finally {
    await watching.stop();
    await cluster.stop();
  }
}

/** Runs the plugin, which exits with 1 when something is in the way. */
const run = (plugin: string, kubeconfig: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, FORCE_COLOR: '1' };
    execFile(
      process.execPath,
      [plugin, '--kubeconfig', kubeconfig, ...ARGS],
      { env },
      (error, stdout, stderr) => {
        if (error === null || error.code === 1) resolve(stdout);
        else reject(new Error(stderr, { cause: error }));
      },
    );
  });
