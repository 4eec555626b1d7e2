import { BlockList } from 'node:net';
import type { KubernetesObject } from '../../domain/objects.ts';
import { named } from '../../cluster/listed.ts';
import type { Reader, ResourceType } from '../../kubernetes/cluster.ts';
import { familyOf, type IsRefused } from './own-addresses.ts';

interface AddressedPod extends KubernetesObject {
  spec: { hostNetwork?: boolean };
}

const pods: ResourceType<AddressedPod> = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };
/** Lists of pods with an address of their own. */
const OWN_PODS = named(pods, ({ spec }) => spec.hostNetwork !== true);
const SERVICES = named({ apiVersion: 'v1', kind: 'Service', plural: 'services', namespaced: true });
/** The watch cache may answer: what has the address now need not have it in a moment. */
const CACHED = { resourceVersion: '0' } as const;

/**
 * Refuses the addresses of pods and Services of this cluster: what listens there is not for each author of a Provider. A pod of the
 * host's network has its node's address, as an API server has. `allowed`: networks of an admin, such as "10.0.0.0/8", where servers may be,
 * as those of hosted control planes.
 */
export function refusingOwnPods(hub: Pick<Reader, 'list'>, allowed: readonly string[]): IsRefused {
  const networks = new BlockList();
  for (const network of allowed) {
    const [address = '', prefix] = network.split('/');
    networks.addSubnet(address, Number(prefix), familyOf(address));
  }
  const asking = new Map<string, Promise<boolean>>();
  const isOwn = async (address: string): Promise<boolean> => {
    const lists = await Promise.all([
      hub.list(OWN_PODS, { fieldSelector: `status.podIP=${address}` }, CACHED),
      hub.list(SERVICES, { fieldSelector: `spec.clusterIP=${address}` }, CACHED),
    ]);
    return lists.some(({ items }) => items.length > 0);
  };
  return async (address) => {
    if (networks.check(address, familyOf(address))) return false;
    // Connections that are made at once share an answer: a watcher begins with four to each cluster.
    const answer = asking.get(address) ?? isOwn(address).finally(() => asking.delete(address));
    asking.set(address, answer);
    return answer;
  };
}
