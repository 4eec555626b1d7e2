import type { Claim, DataVolume, VirtualMachine, Volume } from '../../domain/live/kubevirt.ts';
import { LIVE_LABEL } from '../../domain/live/names.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { listed, NAMED, OBJECT } from '../../cluster/listed.ts';
import type { ListedType, Reader } from '../../kubernetes/cluster.ts';
import { DATA_VOLUMES, WHOLE_CLAIMS } from '../../kubernetes/live-resources.ts';
import { PARSED } from '../../kubernetes/trim.ts';
import type { ClaimUser } from '../findings/plan-view.ts';
import { listIfServed } from './get.ts';
import { NAMED_VMS } from './listed-vms.ts';

/** Returns the claims that a volume of a VM uses; a DataVolume has a claim of its name. */
const claimsOf = (volumes: readonly Volume[] = []): string[] =>
  volumes.flatMap(({ dataVolume, persistentVolumeClaim, ephemeral, memoryDump }) =>
    [
      dataVolume?.name,
      persistentVolumeClaim?.claimName,
      ephemeral?.persistentVolumeClaim?.claimName,
      memoryDump?.claimName,
    ].filter((name) => name !== undefined),
  );

/** Lists of VMs by the claims that they use. */
export const VMS_BY_CLAIM: ListedType<VirtualMachine> = {
  ...NAMED_VMS,
  trim: (vm) => {
    const names = claimsOf(vm.spec.template.spec.volumes);
    const named = names.length === 0 ? undefined : NAMED_VMS.trim(vm);
    if (named === undefined) return undefined;
    const volumes = names.map((name): Volume => ({ name: '', dataVolume: { name } }));
    const spec = { template: { spec: { domain: {}, volumes } } };
    return { object: { ...named.object, spec }, size: named.size + PARSED * JSON.stringify(volumes).length };
  },
};

/** Reads the VMs that use each claim of these namespaces, by `namespace/name` of the claim. */
export async function readClaimUsers(
  cluster: Reader,
  namespaces: readonly string[],
  isNamed: boolean,
): Promise<ReadonlyMap<string, readonly ClaimUser[]>> {
  const lists = await Promise.all(
    namespaces.map((namespace) => listIfServed(cluster.list(VMS_BY_CLAIM, { namespace }))),
  );
  const users = new Map<string, ClaimUser[]>();
  for (const { metadata, spec } of lists.flat()) {
    const { namespace = '', name, uid } = metadata;
    const user = { uid, ...(isNamed ? { name: `${namespace}/${name}` } : {}) };
    for (const claim of new Set(claimsOf(spec.template.spec.volumes))) {
      const key = `${namespace}/${claim}`;
      users.set(key, [...(users.get(key) ?? []), user]);
    }
  }
  return users;
}

const VOLUME = {
  ...OBJECT,
  metadata: { ...NAMED, labels: { [LIVE_LABEL.vm]: true } },
  spec: false,
  status: false,
} as const;
const LISTED_CLAIMS = listed<Claim>(WHOLE_CLAIMS, VOLUME);
const LISTED_DATA_VOLUMES = listed<DataVolume>(DATA_VOLUMES, VOLUME);

/** Reads the volumes of a namespace by name: the DataVolume where there is one, and else the claim. */
export async function readVolumes(
  cluster: Reader,
  namespace: string,
): Promise<ReadonlyMap<string, KubernetesObject>> {
  const [claims, dataVolumes] = await Promise.all([
    cluster.list(LISTED_CLAIMS, { namespace }),
    listIfServed(cluster.list(LISTED_DATA_VOLUMES, { namespace })),
  ]);
  const of = ({ kind }: { readonly kind: string }, objects: readonly KubernetesObject[]) =>
    objects.map((object) => [object.metadata.name, { ...object, kind }] as const);
  return new Map([...of(WHOLE_CLAIMS, claims.items), ...of(DATA_VOLUMES, dataVolumes)]);
}
