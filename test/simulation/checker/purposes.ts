import type { LockedMigration } from '../../../functions/domain/lock.ts';
import type { Purpose } from '../../../functions/domain/names.ts';
import type { Node } from '../../../functions/domain/objects.ts';
import { NODES, VMIS } from '../../../functions/kubernetes/resources.ts';
import type { Vmi } from '../../cluster/kubevirt/objects/types.ts';
import type { Change } from '../model/store.ts';
import { isChanging, isOutdated, type Origin, type Origins } from '../world/origins.ts';

/** Who made each migration, and which VMIs KubeVirt ever called outdated. */
export type KnownOrigins = Pick<Origins, 'made' | 'outdated'>;

/**
 * I5: the purposes that are true of a migration, by who made it, and by what its node and its VMI ever were, because a step may have
 * read them at any time. It looks at no mark of the migration.
 */
export class Purposes {
  readonly #origins: KnownOrigins;
  #wasDrained = false;
  /** UIDs of VMIs with an outdated launcher and no change that waits; and of those of which this is not so. */
  readonly #toUpgrade = new Set<string>();
  readonly #toChange = new Set<string>();

  constructor(origins: KnownOrigins) {
    this.#origins = origins;
  }

  see({ kind, object }: Pick<Change, 'kind' | 'object'>): void {
    if (kind === NODES.kind) this.#wasDrained ||= (object as Node).spec?.unschedulable === true;
    if (kind !== VMIS.kind) return;
    const { uid } = object.metadata;
    const isToUpgrade = isOutdated(object) && this.wasOutdated(uid) && !isChanging(object as Vmi);
    (isToUpgrade ? this.#toUpgrade : this.#toChange).add(uid);
  }

  /** Whether the VMI of this UID ever had an outdated launcher: the next one may need more. */
  wasOutdated(vmi: string): boolean {
    return this.#origins.outdated.has(vmi);
  }

  /** Whether the lock may take the migration to be for this purpose; for none, it gets what no purpose decides about. */
  isTrue({ name, vmi, purpose }: LockedMigration): boolean {
    if (purpose === undefined) return true;
    const origin = this.#origins.made.get(name) ?? 'user';
    return MADE_FOR[purpose].includes(origin) && this.#wasSo(purpose, vmi);
  }

  #wasSo(purpose: Purpose, vmi: string): boolean {
    if (purpose === 'Evacuation') return this.#wasDrained;
    if (purpose === 'WorkloadUpdate') return this.#toUpgrade.has(vmi);
    return purpose !== 'LiveUpdate' || this.#toChange.has(vmi);
  }
}

const MADE_FOR: Readonly<Record<Purpose, readonly Origin[]>> = {
  Evacuation: ['eviction'],
  WorkloadUpdate: ['update'],
  LiveUpdate: ['update'],
  Rebalance: ['descheduler'],
  // As an eviction counts from a node that is not drained.
  UserRequested: ['user', 'eviction'],
};
