import { KUBEVIRT } from '../../../functions/domain/names.ts';
import type { Migration } from '../../../functions/domain/objects.ts';
import type { Change } from '../model/store.ts';

/** Which migrations a quota kept out, and when: by what was stored, whatever a lock says of them. */
export class Blocked {
  /** By UID: the revision at which it was not so any more; Infinity: it is. */
  readonly #until = new Map<string, number>();
  /** At which revisions each process had read the namespace. */
  readonly #reads = new Map<string, number[]>();

  /** `isThrough`: it has had its target pod. */
  see({ type, object, revision }: Change, isThrough: (uid: string) => boolean): void {
    const { uid } = object.metadata;
    if (type !== 'DELETED' && isRefused(object as Migration) && !isThrough(uid))
      this.#until.set(uid, Infinity);
    else this.end(uid, revision);
  }

  /** Its target pod is there. */
  end(uid: string, revision: number): void {
    if (this.#until.get(uid) === Infinity) this.#until.set(uid, revision);
  }

  /** A process has read the namespace: what else it goes by, it reads later. */
  read(who: string, revision: number): void {
    const reads = this.#reads.get(who);
    if (reads === undefined) this.#reads.set(who, [revision]);
    else reads.push(revision);
  }

  /**
   * Whether a quota kept it out at any time since the process first read this version of the namespace: whoever writes over
   * it has read no other, and an earlier round of the same process may have sent the write.
   */
  mayBeLockedFor(uid: string, { who, version }: { who: string; version: number }): boolean {
    const since = this.#reads.get(who)?.find((revision) => revision >= version) ?? Infinity;
    return (this.#until.get(uid) ?? 0) > since;
  }
}

const isRefused = ({ metadata, status }: Migration): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.phase === 'Pending' &&
  status.conditions?.some(({ type, status: is }) => type === KUBEVIRT.rejectedByQuota && is === 'True') ===
    true;
