/** A watch cache of one kind in one API server: it sees the Store's changes later, in their order. */
export class Cache {
  /** How many changes of this kind it has not seen. */
  get behind(): number {
    throw new Error('skeleton');
  }

  /** Sees the next ones. */
  catchUp(_changes = 1): void {
    throw new Error('skeleton');
  }

  catchUpAll(): void {
    throw new Error('skeleton');
  }
}
