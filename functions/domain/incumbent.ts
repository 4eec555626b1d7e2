import { FIELD_MANAGER } from './names.ts';
import type { KubernetesObject, ManagedFieldsEntry, Vmmrq } from './objects.ts';

/*
 * What shows the incumbent (kubevirt/managed-tenant-quota, facts/peers.md §1). While any of it is there, the steps and the guard write
 * nothing but our own Events: each project would undo the other's writes, and the incumbent keeps its only record in an object that both
 * write. Three things are written all the same:
 *
 * - What ends our own lock or grant from before: `lower`, `unlock` and the guard's repair do not look for the incumbent (I3).
 * - The guard's certificate and the CA bundle of its webhooks, which our own lock needs to end, and the replicas of our watcher.
 * - What `live` writes for a move that its user started: a guest must not stay between two clusters. `live` writes no quota and no VMMRQ.
 */

/** The incumbent's name, to people. */
const INCUMBENT = 'kubevirt/managed-tenant-quota';

/** Objects by which the incumbent shows. */
export interface IncumbentSigns {
  /** MTQ objects, by any key. */
  readonly incumbents: ReadonlyMap<string, KubernetesObject>;
  /** ValidatingWebhookConfigurations, by name. */
  readonly configurations: Pick<ReadonlyMap<string, KubernetesObject>, 'has'>;
  readonly vmmrqs: Iterable<Vmmrq>;
}

/** Name of the ValidatingWebhookConfiguration by which the incumbent locks a namespace. */
export const incumbentLockOf = (namespace: string): string => `lock.${namespace}.com`;

/** What shows the incumbent in a namespace; undefined: nothing that was read. */
export const incumbentOf = (signs: IncumbentSigns, namespace: string): string | undefined =>
  installed(signs) ??
  lockIn(signs, namespace) ??
  recordIn([...signs.vmmrqs].filter(({ metadata }) => metadata.namespace === namespace));

/** What shows the incumbent in any of these namespaces, or a VMMRQ; undefined: nothing that was read. */
export function incumbentAnywhere(
  signs: IncumbentSigns,
  namespaces: ReadonlySet<string>,
): string | undefined {
  const found = installed(signs) ?? recordIn(signs.vmmrqs);
  if (found !== undefined) return found;
  for (const namespace of namespaces) {
    const lock = lockIn(signs, namespace);
    if (lock !== undefined) return lock;
  }
  return undefined;
}

function installed({ incumbents }: Pick<IncumbentSigns, 'incumbents'>): string | undefined {
  const [mtq] = incumbents.values();
  return mtq && `${INCUMBENT} is installed (MTQ object ${mtq.metadata.name})`;
}

function lockIn(
  { configurations }: Pick<IncumbentSigns, 'configurations'>,
  namespace: string,
): string | undefined {
  const name = incumbentLockOf(namespace);
  if (!configurations.has(name)) return undefined;
  return `${INCUMBENT} locks namespace ${namespace} (ValidatingWebhookConfiguration ${name})`;
}

/** What shows the incumbent's record in these VMMRQs; undefined: none has it. */
export function recordIn(vmmrqs: Iterable<Vmmrq>): string | undefined {
  for (const vmmrq of vmmrqs) {
    if (!isOfIncumbent(vmmrq)) continue;
    return (
      `the status of VMMRQ ${vmmrq.metadata.name} is the record by ${INCUMBENT} of what it raises; where that is gone, ` +
      'set the quotas to originalBlockingResourceQuotas, then remove the status'
    );
  }
  return undefined;
}

/**
 * Whether another than we wrote the two fields of the status that say what the incumbent raises. We write no entry of
 * `originalBlockingResourceQuotas`. We write `migrationsToBlockingResourceQuotas` too, but always with conditions, which the incumbent's own
 * type lacks, so that its PUT removes them.
 */
export function isOfIncumbent({ status = {}, metadata }: Vmmrq): boolean {
  if ((status.originalBlockingResourceQuotas ?? []).length > 0) return true;
  if (Object.keys(status.migrationsToBlockingResourceQuotas ?? {}).length === 0) return false;
  const { managedFields = [] } = metadata;
  return (status.conditions ?? []).length === 0 || managedFields.some(hasEntryOfOther);
}

/** Whether another manager wrote an entry; `.`, the map itself, stays with its first writer. */
const hasEntryOfOther = ({ manager, fieldsV1 }: ManagedFieldsEntry): boolean =>
  manager !== FIELD_MANAGER &&
  Object.keys(fieldsV1?.['f:status']?.['f:migrationsToBlockingResourceQuotas'] ?? {}).some(
    (key) => key !== '.',
  );
