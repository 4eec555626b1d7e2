import { KUBEVIRT as NAMES } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { FULL_VMIS } from '../../cluster/kubevirt/objects/objects.ts';
import type { Vmi } from '../../cluster/kubevirt/objects/types.ts';
import type { Store } from '../model/store.ts';
import { evacuating, type NewMigration } from './objects.ts';
import { Random } from '../engine/random.ts';

/** Who made a migration: a user, or virt-controller for one of three reasons (facts/kubevirt.md §3.1, §3.2). */
export type Origin =
  | 'user'
  /** A launcher was evicted, as by a drain. */
  | 'eviction'
  | 'descheduler'
  /** The launcher is outdated, or the VM was changed. */
  | 'update';

/** The last two come by a stream of random numbers of their own: all else of a seed is the same without them. */
const OTHERS: readonly Origin[] = ['descheduler', 'update', 'update'];

/** What only a migration carries out (facts/kubevirt.md §3.1). */
const CHANGES = ['HotVCPUChange', 'HotMemoryChange', 'VolumesChange', 'MigrationRequired'];

export interface OriginParts {
  readonly seed: number;
  /** The chance of another origin. */
  readonly rate: number;
  readonly store: Store;
  /** KubeVirt's own write of a VMI. */
  readonly write: (vmi: Vmi) => void;
}

/** Makes the migrations of a run, each with the marks and the priority of its origin, and records who made it. */
export class Origins {
  /** By the name of the migration, which no other one has. */
  readonly made = new Map<string, Origin>();
  /** UIDs of the VMIs whose launcher ever was outdated, whatever their labels say. */
  readonly outdated = new Set<string>();
  readonly #parts: OriginParts;
  readonly #random: Random;

  constructor(parts: OriginParts) {
    this.#parts = parts;
    this.#random = new Random(parts.seed + 0.125 * 2 ** 32);
  }

  /** `usual`: its origin where the run has no others. */
  make(migration: NewMigration, usual: Origin): NewMigration {
    const { rate } = this.#parts;
    const origin = this.#random.chance(rate) ? this.#random.pick(OTHERS) : usual;
    this.made.set(migration.metadata.name, origin);
    switch (origin) {
      case 'user':
        return migration;
      case 'eviction':
        return evacuating(migration);
      case 'descheduler':
        return withPriority('system-maintenance', evacuating(migration));
      case 'update':
        return this.#update(migration);
    }
  }

  /** A user's own, whatever it looks like. */
  makeOwn(migration: NewMigration): NewMigration {
    this.made.set(migration.metadata.name, 'user');
    return migration;
  }

  /** A VMI of the beginning. */
  atStart(vmi: Vmi): Vmi {
    const random = this.#random;
    if (!random.chance(this.#parts.rate)) return vmi;
    const outdatedOrNot = random.chance(0.6) ? this.outdate(vmi) : vmi;
    return random.chance(0.4) ? changing(outdatedOrNot, random) : outdatedOrNot;
  }

  /** KubeVirt has a newer launcher. */
  outdate(vmi: Vmi): Vmi {
    this.outdated.add(vmi.metadata.uid);
    return withLabels(vmi, { [NAMES.outdatedLauncher]: '' });
  }

  #update(migration: NewMigration): NewMigration {
    const { store, write } = this.#parts;
    const { namespace } = migration.metadata;
    const own = store.list<Vmi>(FULL_VMIS.kind, namespace);
    const vmi = own.find(({ metadata }) => metadata.name === migration.spec.vmiName);
    const hasReason = vmi !== undefined && (isOutdated(vmi) || isChanging(vmi));
    if (vmi !== undefined && !hasReason)
      write(this.#random.chance(0.5) ? this.outdate(vmi) : changing(vmi, this.#random));
    const isOfUser = vmi !== undefined && isChanging(vmi);
    return withPriority(isOfUser ? 'user-triggered' : 'system-critical', updating(migration));
  }
}

const updating = ({ metadata, ...rest }: NewMigration): NewMigration => ({
  ...rest,
  metadata: { ...metadata, annotations: { ...metadata.annotations, [NAMES.workloadUpdate]: '' } },
});

const withPriority = (priority: string, { spec, ...rest }: NewMigration): NewMigration => ({
  ...rest,
  spec: { ...spec, priority },
});

export const isOutdated = ({ metadata }: KubernetesObject): boolean =>
  metadata.labels?.[NAMES.outdatedLauncher] !== undefined;

export const isChanging = ({ status }: Vmi): boolean =>
  (status?.conditions ?? []).some(({ type, status: is }) => CHANGES.includes(type) && is === 'True');

/** Its launcher is the current one. */
export const current = (vmi: Vmi): Vmi => withLabels(vmi, {});

function withLabels(vmi: Vmi, label: Record<string, string>): Vmi {
  const { [NAMES.outdatedLauncher]: _, ...labels } = vmi.metadata.labels ?? {};
  return { ...vmi, metadata: { ...vmi.metadata, labels: { ...labels, ...label } } };
}

/** With one change that waits for a migration. */
export const changing = (vmi: Vmi, random: Random): Vmi => ({
  ...vmi,
  status: { ...vmi.status, conditions: [{ type: random.pick(CHANGES), status: 'True' }] },
});

/** With no such change. */
export const unchanged = (vmi: Vmi): Vmi => ({ ...vmi, status: { ...vmi.status, conditions: [] } });

/** A user's migration that looks like KubeVirt's own. */
export function copied(migration: NewMigration, random: Random): NewMigration {
  const priority = random.pick(['', 'system-critical', 'user-triggered', 'system-maintenance']);
  const { metadata } = migration;
  const marked = {
    ...migration,
    metadata: { ...metadata, labels: { [VOLUME_UPDATE]: 'vm0' }, annotations: marks(random) },
  };
  return priority === '' ? marked : withPriority(priority, marked);
}

/** The marks of KubeVirt's own migrations. */
export const marks = (random: Random): Record<string, string> =>
  random.pick([{ [NAMES.evacuation]: 'node1' }, { [NAMES.workloadUpdate]: '' }]);

/** The same without the marks that the policy `purposes` keeps from users. */
export const withoutMarks = ({ metadata, ...rest }: NewMigration): NewMigration => {
  const { annotations: _, ...others } = metadata;
  return { ...rest, metadata: others };
};

const VOLUME_UPDATE = 'kubevirt.io/volume-update-migration';
