import type { NetworkMap } from '../../domain/live/forklift.ts';
import { mappedNetworks, type Known, type KnownNames } from '../findings/maps.ts';
import type { Reader, ResourceType } from '../../kubernetes/cluster.ts';
import { NETWORK_ATTACHMENTS, STORAGE_CLASSES } from '../../kubernetes/live-resources.ts';
import { listIfServed } from './get.ts';

type Clusters = Readonly<Record<'source' | 'target', Reader | undefined>>;

/** Reads the names of the storage classes of both clusters. */
export async function readStorageClasses({ source, target }: Clusters): Promise<KnownNames> {
  const [from, to] = await Promise.all([namesIn(source, STORAGE_CLASSES), namesIn(target, STORAGE_CLASSES)]);
  return { source: from, target: to };
}

/** Reads the networks of both clusters, as `namespace/name`; those of the source only if the map has any. */
export async function readNetworks(map: NetworkMap, { source, target }: Clusters): Promise<KnownNames> {
  const [from, to] = await Promise.all([
    mappedNetworks(map).length === 0 ? undefined : namesIn(source, NETWORK_ATTACHMENTS),
    namesIn(target, NETWORK_ATTACHMENTS),
  ]);
  return { source: from, target: to };
}

/** Names of a cluster's objects, `namespace/name` for those in a namespace; undefined if they are not known. */
async function namesIn(cluster: Reader | undefined, type: ResourceType): Promise<Known> {
  if (cluster === undefined) return undefined;
  try {
    const objects = await listIfServed(cluster.list(type, {}));
    return new Set(
      objects.map(({ metadata: { namespace, name } }) => (namespace ? `${namespace}/${name}` : name)),
    );
  } catch {
    return undefined;
  }
}
