import { networkInterfaces } from 'node:os';
import { API_SERVERS } from '../../../functions/domain/names.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ENDPOINT_SLICES } from '../../../functions/kubernetes/resources.ts';
import type { ApiServer } from '../../cluster/controlplane/start.ts';

/** An address of this machine. Endpoints must not be loopback addresses. */
export function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const own = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (own === undefined) throw new Error('this machine has no IPv4 address but loopback: it needs a network');
  return own.address;
}

/**
 * Publishes API servers as endpoints of the Service default/kubernetes, one slice for each, because their ports differ. The endpoint
 * reconciler of a real API server would publish one port for all.
 */
export async function publish(admin: Cluster, servers: readonly Pick<ApiServer, 'url'>[]): Promise<void> {
  const [key = '', value = ''] = API_SERVERS.slices.labelSelector.split('=');
  const address = ownAddress();
  for (const { url } of servers) {
    const port = Number(new URL(url).port);
    const { namespace } = API_SERVERS.slices;
    await admin.create(ENDPOINT_SLICES, {
      metadata: { namespace, name: `kubernetes-${port}`, labels: { [key]: value } },
      ...{ addressType: 'IPv4', endpoints: [{ addresses: [address] }], ports: [{ name: 'https', port }] },
    });
  }
}
