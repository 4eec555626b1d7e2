import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Change, Store } from './store.ts';

/** An informer's cache of one kind: it starts equal to the Store, and sees later changes only when the caller advances it. */
export class Cache<T extends KubernetesObject = KubernetesObject> {
  readonly #objects = new Map<string, T>();
  readonly #unseen: Change[] = [];
  readonly #onSeen: (change: Change) => void;

  /** `onSeen`: the informer's handler for each change. */
  constructor(store: Store, kind: string, onSeen: (change: Change) => void = () => undefined) {
    this.#onSeen = onSeen;
    for (const object of store.list<T>(kind)) this.#objects.set(pathOf(object), object);
    store.onChange((change) => {
      if (change.kind === kind) this.#unseen.push(change);
    });
  }

  /** Number of unseen changes. */
  get behind(): number {
    return this.#unseen.length;
  }

  /** Advances by the next changes, in their order. */
  catchUp(changes = 1): void {
    for (const change of this.#unseen.splice(0, changes)) {
      const { type, object } = change;
      if (type === 'DELETED') this.#objects.delete(pathOf(object));
      else this.#objects.set(pathOf(object), object as T);
      this.#onSeen(change);
    }
  }

  catchUpAll(): void {
    this.catchUp(this.#unseen.length);
  }

  get(name: string, namespace = ''): T | undefined {
    return this.#objects.get(`${namespace}/${name}`);
  }

  /** The objects of one namespace, sorted by name (a real lister has no order). */
  list(namespace: string): T[] {
    return [...this.#objects.values()]
      .filter(({ metadata }) => metadata.namespace === namespace)
      .sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
  }
}

const pathOf = ({ metadata: { namespace = '', name } }: KubernetesObject): string => `${namespace}/${name}`;
