import { uninstall } from '../cluster/install.ts';
import type { TestEnvironment } from './test-environment.ts';

/** Without the manifests nobody starts a process of ours, and those that run lose their service accounts. */
export async function forceUninstall({ admin, cluster }: TestEnvironment): Promise<void> {
  const { eventing } = cluster;
  await Promise.all(eventing.sources.map((source) => source.stop()));
  await cluster.killGuard();
  // A delivery under way would start a process anew, by the rights of before.
  await eventing.broker.idle();
  for (const { service } of eventing.activator.running()) eventing.activator.kill(service, 'SIGKILL');
  await uninstall(admin, cluster.objects);
}
