import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { WatchEvent } from '../../../functions/kubernetes/cluster.ts';
import { Unreachable } from '../../../functions/kubernetes/errors.ts';
import { versioned, type Change, type Store } from './store.ts';

export interface Watching {
  readonly kind: string;
  readonly selects: (object: KubernetesObject) => boolean;
  /** Revision of the last change that the watch skips. */
  readonly after: number;
  /** Milliseconds, by the cluster's clock. */
  readonly endsAt: number;
  readonly signal: AbortSignal;
  /** Suspends each event before it is sent; a rejection ends the watch with that error. */
  readonly suspend: () => Promise<void>;
}

/** The open watches of one API server. There is no timer: the caller ends overdue watches. */
export class Watches {
  readonly #store: Store;
  readonly #open = new Set<OpenWatch>();

  constructor(store: Store) {
    this.#store = store;
    store.onChange(({ kind }) => {
      for (const open of this.#open) if (open.kind === kind) open.look();
    });
  }

  /** Sends past and new changes until its end; rejects with Unreachable when the server stops. */
  async *watch(watching: Watching): AsyncGenerator<WatchEvent<KubernetesObject>> {
    const open = new OpenWatch(watching);
    const abort = (): void => open.end('aborted');
    this.#open.add(open);
    watching.signal.addEventListener('abort', abort);
    if (watching.signal.aborted) abort();
    try {
      for await (const event of this.#events(watching, open)) {
        await Promise.race([watching.suspend(), open.over]);
        if (open.isOver()) return;
        yield event;
      }
    } finally {
      this.#open.delete(open);
      watching.signal.removeEventListener('abort', abort);
    }
  }

  async *#events(
    { kind, selects, after }: Watching,
    open: OpenWatch,
  ): AsyncGenerator<WatchEvent<KubernetesObject>> {
    let seen = after;
    while (!open.isOver()) {
      const news = open.news();
      for (const change of this.#store.changesAfter(seen)) {
        seen = change.revision;
        const event = change.kind === kind ? eventOf(change, selects) : undefined;
        if (event !== undefined) yield event;
      }
      await news;
    }
  }

  endOverdue(now: number): void {
    for (const open of this.#open) if (open.endsAt <= now) open.end('closed');
  }

  nextEnd(): number | undefined {
    const ends = [...this.#open].map(({ endsAt }) => endsAt);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  stop(): void {
    for (const open of this.#open) open.end('broken');
  }
}

type End = 'aborted' | 'closed' | 'broken';

class OpenWatch {
  readonly kind: string;
  readonly endsAt: number;
  readonly #over = Promise.withResolvers<undefined>();
  #news = Promise.withResolvers<undefined>();
  #ended: End | undefined;

  constructor({ kind, endsAt }: Watching) {
    this.kind = kind;
    this.endsAt = endsAt;
  }

  /** Resolves with the end. */
  get over(): Promise<undefined> {
    return this.#over.promise;
  }

  /** Throws for a client whose server stopped. */
  isOver(): boolean {
    if (this.#ended === 'broken') throw new Unreachable('the watch broke off');
    return this.#ended !== undefined;
  }

  /** Resolves with the next change after this call, or with the end. */
  news(): Promise<undefined> {
    if (this.#ended === undefined) this.#news = Promise.withResolvers<undefined>();
    return this.#news.promise;
  }

  look(): void {
    this.#news.resolve(undefined);
  }

  end(how: End): void {
    this.#ended ??= how;
    this.#over.resolve(undefined);
    this.look();
  }
}

/** By selector: an object that no longer matches becomes DELETED, in its earlier state (storage/cacher). */
export function eventOf(
  { type, before, object, revision }: Change,
  selects: Watching['selects'],
): WatchEvent<KubernetesObject> | undefined {
  const was = before !== undefined && selects(before);
  const is = type !== 'DELETED' && selects(object);
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object };
  if (!was) return undefined;
  return { type: 'DELETED', object: versioned(before, revision) };
}
