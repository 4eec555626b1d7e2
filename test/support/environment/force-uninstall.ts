import { uninstall } from '../../cluster/install.ts';
import type { TestEnvironment } from './test-environment.ts';

/** Removes the manifests: no new process of the project starts, and running ones lose their service accounts. */
export async function forceUninstall({ admin, cluster }: TestEnvironment): Promise<void> {
  const { eventing } = cluster;
  await Promise.all(eventing.sources.map((source) => source.stop()));
  await cluster.killGuard();
  // A delivery under way would start another process with the old rights.
  await eventing.broker.idle();
  for (const { service } of eventing.activator.running()) eventing.activator.kill(service, 'SIGKILL');
  await uninstall(admin, cluster.objects);
}
