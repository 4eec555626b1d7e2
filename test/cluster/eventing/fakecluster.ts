import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type {
  Cluster,
  ReadList,
  ResourceType,
  WatchEvent,
  WatchFrom,
} from '../../../functions/kubernetes/cluster.ts';

type Step =
  { readonly event: WatchEvent<KubernetesObject> } | { readonly close: true } | { readonly fail: Error };

/**
 * A source of watch events for tests of the adapter's rules of sending; it knows nothing of Kubernetes. Pushed events
 * wait for a watch of their kind, one step after the other.
 */
export class FakeCluster {
  /** By plural: the answers to list, and where each watch began. */
  readonly lists: string[] = [];
  readonly watches: { plural: string; from: WatchFrom }[] = [];
  listed: KubernetesObject[] = [];
  resourceVersion = '1';
  readonly #steps = new Map<string, Step[]>();
  readonly #notify = new Map<string, () => void>();

  push(plural: string, ...steps: Step[]): void {
    this.#steps.set(plural, [...(this.#steps.get(plural) ?? []), ...steps]);
    this.#notify.get(plural)?.();
  }

  /** Those changes of objects, in the order given. */
  change(plural: string, ...events: WatchEvent<KubernetesObject>[]): void {
    this.push(plural, ...events.map((event) => ({ event })));
  }

  /** The rest of Cluster is not there: the adapter only lists and watches. */
  asCluster(): Cluster {
    return {
      list: this.#list.bind(this),
      watch: this.#watch.bind(this),
    } as Partial<Cluster> as Cluster;
  }

  #list<T extends KubernetesObject>({ plural }: ResourceType<T>): Promise<ReadList<T>> {
    this.lists.push(plural);
    const { resourceVersion, listed } = this;
    return Promise.resolve({ items: listed as T[], resourceVersion, date: new Date() });
  }

  async *#watch<T extends KubernetesObject>(
    { plural }: ResourceType<T>,
    from: WatchFrom,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    this.watches.push({ plural, from });
    while (!signal.aborted) {
      const step = this.#steps.get(plural)?.shift();
      if (step === undefined) await this.#more(plural, signal);
      else if ('event' in step) yield step.event as WatchEvent<T>;
      else if ('fail' in step) throw step.fail;
      else return;
    }
  }

  #more(plural: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#notify.set(plural, resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}
