import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { New } from '../../functions/kubernetes/cluster.ts';
import { newMigration, newVirtualMachineInstance } from '../cluster/kubevirt/objects/objects.ts';

type Fields = Readonly<Record<string, unknown>>;

/** An object with the defaults of virt-api's mutating webhooks, for a cluster without virt-api. */
export function asByVirtApi(object: New<KubernetesObject>): New<KubernetesObject> {
  const { kind } = object;
  if (kind === 'VirtualMachineInstance') return merged(newVirtualMachineInstance(wishOf(object)), object);
  if (kind === 'VirtualMachineInstanceMigration') return merged(newMigration(wishOf(object)), object);
  return object;
}

function wishOf({ metadata, ...rest }: New<KubernetesObject>): {
  namespace: string;
  name: string;
  vmi: string;
} {
  const { vmiName = '' } = (rest as { spec?: { vmiName?: string } }).spec ?? {};
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '', vmi: vmiName };
}

/** Fills in missing values and keeps existing ones. A list is kept as a whole. */
function merged<T>(filledIn: unknown, said: T): T {
  if (!isFields(filledIn) || !isFields(said)) return said;
  const added = Object.entries(said).map(([key, value]) => [key, merged(filledIn[key], value)] as const);
  return { ...filledIn, ...Object.fromEntries(added) } as T;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
