import type { LockedMigration } from '../lock.ts';
import type { Purpose } from '../names.ts';
import type { ClusterVmmrq, Vmmrq } from '../objects.ts';
import { isClusterWide } from '../vmmrq-name.ts';
import { selects } from './selector.ts';

/*
 * A VMMRQ of the namespace, or a ClusterVirtualMachineMigrationResourceQuota that selects it: a lock, a grant and an event name
 * both in one list.
 */

/** The VMMRQs of the namespace itself, on which it is reported. */
export const ownVmmrqs = ({ vmmrqs }: { readonly vmmrqs: readonly Vmmrq[] }): readonly Vmmrq[] =>
  vmmrqs.filter((vmmrq) => !isClusterWide(vmmrq));

/** What a cluster-wide VMMRQ gives to that names no purposes: what an admin starts. */
const ADMINS_PURPOSES: readonly Purpose[] = ['Evacuation', 'WorkloadUpdate'];

/** The purposes that it gives to; undefined: all. */
export const purposesOf = (vmmrq: Vmmrq): readonly string[] | undefined =>
  vmmrq.spec.purposes ?? (isClusterWide(vmmrq) ? ADMINS_PURPOSES : undefined);

/** Whether it matters here what a migration is for. */
export const dependOnPurpose = (vmmrqs: readonly Vmmrq[]): boolean =>
  vmmrqs.some((vmmrq) => purposesOf(vmmrq) !== undefined);

/** What a VMMRQ may depend on. */
type Recipient = Pick<LockedMigration, 'purpose' | 'receives'>;

/** The VMMRQs that give to such a migration. A VMMRQ that names purposes gives nothing to a migration of unknown purpose. */
export const givingTo = <T extends Vmmrq>(vmmrqs: readonly T[], { purpose, receives }: Recipient): T[] =>
  vmmrqs.filter((vmmrq) => {
    const purposes = purposesOf(vmmrq);
    const isForPurpose = purposes === undefined || (purpose !== undefined && purposes.includes(purpose));
    return isForPurpose && (receives !== true || vmmrq.spec.allowReceive === true);
  });

/** The VMMRQs that give to each of these migrations. */
export const givingToAll = (vmmrqs: readonly Vmmrq[], migrations: readonly Recipient[]): readonly Vmmrq[] =>
  migrations.reduce<readonly Vmmrq[]>((left, migration) => givingTo(left, migration), vmmrqs);

/** The VMMRQs that hold in a namespace with these labels: its own, and the cluster-wide ones that select it. */
export const inForce = (
  vmmrqs: readonly (Vmmrq | ClusterVmmrq)[],
  labels: Readonly<Record<string, string>> | undefined,
): Vmmrq[] => vmmrqs.filter((vmmrq) => !isClusterWide(vmmrq) || selects(selectorOf(vmmrq), labels));

const selectorOf = (vmmrq: Vmmrq | ClusterVmmrq): ClusterVmmrq['spec']['namespaceSelector'] | undefined =>
  'namespaceSelector' in vmmrq.spec ? vmmrq.spec.namespaceSelector : undefined;
