import { LIVE_KIND } from '../../domain/live/names.ts';
import { storedIn, type Resource } from '../on-target/resources.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Reader, ResourceType } from '../../kubernetes/cluster.ts';
import {
  CLUSTER_INSTANCETYPES,
  CLUSTER_PREFERENCES,
  CONFIG_MAPS,
  CONTROLLER_REVISIONS,
  INSTANCETYPES,
  PREFERENCES,
  SECRETS,
} from '../../kubernetes/live-resources.ts';
import { getOrUndefined, getIfServed } from './get.ts';

/** The kinds of the objects that VMs name, which runs copy. */
export const COPIED: readonly ResourceType[] = [SECRETS, CONFIG_MAPS, INSTANCETYPES, PREFERENCES];

const TYPES: Readonly<Record<string, ResourceType>> = {
  [LIVE_KIND.secret.kind]: SECRETS,
  [LIVE_KIND.configMap.kind]: CONFIG_MAPS,
  [LIVE_KIND.instancetype.kind]: INSTANCETYPES,
  [LIVE_KIND.preference.kind]: PREFERENCES,
  [LIVE_KIND.clusterInstancetype.kind]: CLUSTER_INSTANCETYPES,
  [LIVE_KIND.clusterPreference.kind]: CLUSTER_PREFERENCES,
};

/** Reads the objects that are there, each by its name: no account needs the right to list Secrets. */
export async function readResources(
  reader: Reader,
  namespace: string,
  resources: readonly Resource[],
): Promise<readonly KubernetesObject[]> {
  const read = resources.map(async ({ kind, name }) => {
    const type = TYPES[kind];
    return type === undefined ? undefined : getIfServed(reader.get(type, { namespace, name }));
  });
  return (await Promise.all(read)).filter((object) => object !== undefined);
}

/**
 * Reads the objects as the VM runs with them: KubeVirt stores an instance type for a VM, and users may change it afterwards
 * (facts/kubevirt.md §6.3).
 */
export async function readSourceResources(
  reader: Reader,
  namespace: string,
  resources: readonly Resource[],
): Promise<readonly KubernetesObject[]> {
  const stored = resources.map(async (resource) => {
    const { revision: name } = resource;
    if (name === undefined) return readResources(reader, namespace, [resource]);
    const revision = await getOrUndefined(reader.get(CONTROLLER_REVISIONS, { namespace, name }));
    return (revision && storedIn(revision, resource)) ?? [];
  });
  return (await Promise.all(stored)).flat();
}
