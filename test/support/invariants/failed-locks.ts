import type { Lock } from '../../../functions/domain/lock.ts';
import { KUBEVIRT } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { NAMESPACES, PODS } from '../../../functions/kubernetes/resources.ts';
import { heldBy, type Version } from '../tenant/history.ts';
import { isFreeBy, LockedTime } from './locked-time.ts';

/** One lock that still exists. */
interface Holding {
  readonly lock: Lock;
  /** Time at which the watch brought it, milliseconds since 1970. */
  readonly from: number;
  /** UIDs of migrations with a pod that was admitted during the lock. */
  readonly through: Set<string>;
}

/**
 * Measures I7 from the versions alone, oldest first. A lock counts unless each of its migrations had a pod admitted during it.
 * A lock that is not over counts up to the last version.
 */
export function lockedTooLong(versions: readonly Version[]): string[] {
  const locks = new FailedLocks();
  for (const version of versions) locks.see(version);
  locks.end(Math.max(...versions.map(({ at }) => at)));
  const beyond = locks.time.beyondBudget();
  return beyond > 0 ? [`I7: failed attempts locked the namespace for ${beyond} ms too long`] : [];
}

class FailedLocks {
  readonly time = new LockedTime();
  /** The migration of each known pod, by the pod's uid. */
  readonly #migrations = new Map<string, string>();
  #holding: Holding | undefined;

  see({ kind, gone, object, at }: Version): void {
    if (kind === PODS.kind) this.#seePod(object);
    if (kind === NAMESPACES.kind)
      this.#seeLock(gone ? undefined : heldBy(object), { at, isFree: !gone && isFreeBy(object) });
  }

  /** `to`: as Holding has its times. `isFree`: by the namespace's record. */
  end(to: number, isFree = false): void {
    if (this.#holding === undefined) return;
    const { lock, from, through } = this.#holding;
    this.#holding = undefined;
    if (lock.migrations.every(({ uid }) => through.has(uid))) return;
    this.time.add(
      { from, to, unknownMs: 0, isFree },
      Date.parse(lock.expiresAt) - Date.parse(lock.acquiredAt),
    );
  }

  #seeLock(lock: Lock | undefined, { at, isFree }: { readonly at: number; readonly isFree: boolean }): void {
    if (lock?.token === this.#holding?.lock.token) return;
    this.end(at, isFree);
    if (lock !== undefined) this.#holding = { lock, from: at, through: new Set() };
  }

  #seePod(pod: KubernetesObject): void {
    const { uid } = pod.metadata;
    if (this.#migrations.has(uid)) return;
    const migration = migrationOf(pod, this.#migrations);
    this.#migrations.set(uid, migration);
    this.#holding?.through.add(migration);
  }
}

/** The migration uid in a pod's label; for an attachment pod that of its launcher. '' for a pod of no migration. */
function migrationOf({ metadata }: KubernetesObject, known: ReadonlyMap<string, string>): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid ?? '';
  return metadata.labels?.[KUBEVIRT.migrationJobUID] ?? known.get(owner) ?? '';
}
