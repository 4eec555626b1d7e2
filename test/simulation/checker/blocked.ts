import { KUBEVIRT } from '../../../functions/domain/names.ts';
import type { Migration } from '../../../functions/domain/objects.ts';
import type { Change } from '../model/store.ts';

/** Which migrations a quota blocked, and when. It relies on stored objects only, not on a lock's list. */
export class Blocked {
  /** By UID: the revision at which the migration stopped being blocked; Infinity: it still is. */
  readonly #until = new Map<string, number>();

  /** `isThrough`: it has had its target pod. */
  see({ type, object, revision }: Change, isThrough: (uid: string) => boolean): void {
    const { uid } = object.metadata;
    if (type !== 'DELETED' && isBlocked(object as Migration) && !isThrough(uid))
      this.#until.set(uid, Infinity);
    else this.end(uid, revision);
  }

  /** Its target pod is there. */
  end(uid: string, revision: number): void {
    if (this.#until.get(uid) === Infinity) this.#until.set(uid, revision);
  }

  /** Whether a quota blocked it at any time. An old list from a cache may cost a useless lock, which is allowed. */
  wasRefused(uid: string): boolean {
    return this.#until.has(uid);
  }
}

const isBlocked = ({ metadata, status }: Migration): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.phase === 'Pending' &&
  status.conditions?.some(({ type, status: is }) => type === KUBEVIRT.rejectedByQuota && is === 'True') ===
    true;
