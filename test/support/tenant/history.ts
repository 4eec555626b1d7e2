import type { KubernetesObject, Namespace } from '../../../functions/domain/objects.ts';
import { lockOf, type Lock } from '../../../functions/domain/lock.ts';
import type { Cluster, ResourceType, Selection } from '../../../functions/kubernetes/cluster.ts';
import { follow } from '../../../functions/kubernetes/follow.ts';
import {
  CLUSTER_VMMRQS,
  EVENTS,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { FULL_MIGRATIONS, FULL_VMIS } from '../../cluster/kubevirt/objects/objects.ts';
import { Recorded } from '../eventually.ts';

/** One version of one object. */
export interface Version {
  readonly kind: string;
  /** etcd's revision: orders the versions of all kinds. */
  readonly revision: number;
  readonly gone: boolean;
  readonly object: KubernetesObject;
  /** Time at which the watch brought it, milliseconds since 1970. */
  readonly at: number;
}

/** Milliseconds since 1970, by the watch. */
export interface Period {
  readonly from: number;
  /** undefined: not over. */
  readonly until: number | undefined;
}

const IN_NAMESPACE = [RESOURCE_QUOTAS, PODS, EVENTS, VMMRQS, FULL_MIGRATIONS, FULL_VMIS];

/** Every version of a namespace and of its objects from its creation on, by watches. */
export class History {
  readonly #recorded = new Recorded<Version>(describeVersion);
  #sorted: readonly Version[] = [];
  readonly #over = new AbortController();
  /** Revisions by users and not by the project: their spec is the original from then on. */
  readonly #foreign = new Set<number>();
  #following: Promise<unknown> = Promise.resolve();

  /** Resolves when it sees every change from now on. */
  static async start(cluster: Cluster, namespace: string): Promise<History> {
    const history = new History();
    const streams: [ResourceType, Selection][] = [
      [NAMESPACES, { fieldSelector: `metadata.name=${namespace}` }],
      [CLUSTER_VMMRQS, {}],
      ...IN_NAMESPACE.map((type): [ResourceType, Selection] => [type, { namespace }]),
    ];
    const started = streams.map(([type, where]) => history.#follow(cluster, type, where));
    history.#following = Promise.all(started.map(({ ended }) => ended));
    await Promise.all(started.map(({ listed }) => listed));
    return history;
  }

  /** Marks a version as written by another user. */
  noteForeign({ metadata }: KubernetesObject): void {
    this.#foreign.add(Number(metadata.resourceVersion));
  }

  isForeign({ revision }: Version): boolean {
    return this.#foreign.has(revision);
  }

  /** In the order of their revisions, which is the API server's order. */
  versions(): readonly Version[] {
    const { items } = this.#recorded;
    if (this.#sorted.length < items.length)
      this.#sorted = items.toSorted((one, other) => one.revision - other.revision);
    return this.#sorted;
  }

  /** Every version of the objects of one type, oldest first. */
  of<T extends KubernetesObject>(type: ResourceType<T>, name?: string): T[] {
    return this.versions()
      .filter(({ kind, gone, object }) => kind === type.kind && !gone && isNamed(object, name))
      .map(({ object }) => object as T);
  }

  /** The newest version; undefined: never existed, or gone. */
  latest<T extends KubernetesObject>(type: ResourceType<T>, name?: string): T | undefined {
    // One watch brings all objects of a kind in order, so no sort is needed. This runs at every change.
    const last = this.#recorded.items.findLast(
      ({ kind, object }) => kind === type.kind && isNamed(object, name),
    );
    return last === undefined || last.gone ? undefined : (last.object as T);
  }

  isGone(type: ResourceType, name?: string): boolean {
    const last = this.versions().findLast(({ kind, object }) => kind === type.kind && isNamed(object, name));
    return last?.gone === true;
  }

  /** Every lock of the history in its first version, by its token. */
  locks(): Lock[] {
    const held = this.of(NAMESPACES).flatMap((namespace) => heldBy(namespace) ?? []);
    return [...new Map(held.toReversed().map((lock) => [lock.token, lock])).values()].toReversed();
  }

  /** Each period in which the namespace was locked, oldest first; the last one may still run. */
  lockedPeriods(): Period[] {
    const periods: Period[] = [];
    for (const { object, gone, at } of this.versions().filter(({ kind }) => kind === NAMESPACES.kind)) {
      const last = periods.at(-1);
      const isOpen = last !== undefined && last.until === undefined;
      const isLocked = !gone && lockOf(object).kind !== 'none';
      if (isLocked && !isOpen) periods.push({ from: at, until: undefined });
      if (!isLocked && isOpen) periods[periods.length - 1] = { from: last.from, until: at };
    }
    return periods;
  }

  isLocked(): boolean {
    const namespace = this.latest(NAMESPACES);
    return namespace !== undefined && lockOf(namespace).kind !== 'none';
  }

  /**
   * Resolves when its watches have reached the read version, or a newer one. Each kind has its own watch, and a
   * namespace may appear unlocked before its quota appears lowered. Resolves at once after the watches have stopped.
   */
  async untilSeen(read: readonly KubernetesObject[]): Promise<void> {
    if (this.#over.signal.aborted) return;
    await this.until('what was read is heard of', () => read.every((object) => this.#isAbreastOf(object)));
  }

  until(what: string, holds: (history: this) => boolean, withinMs?: number): Promise<void> {
    return this.#recorded.until(what, () => holds(this), withinMs);
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#following;
  }

  #follow(
    cluster: Cluster,
    type: ResourceType,
    where: Selection,
  ): { listed: Promise<undefined>; ended: Promise<void> } {
    const { promise: listed, resolve, reject } = Promise.withResolvers<undefined>();
    const add = (object: KubernetesObject, gone: boolean): void =>
      this.#recorded.add({
        kind: type.kind,
        revision: Number(object.metadata.resourceVersion),
        gone,
        object,
        at: Date.now(),
      });
    const ended = follow(
      cluster,
      { type, where, signal: this.#over.signal },
      {
        onList: (objects) => {
          for (const object of objects) if (!this.#knows(object)) add(object, false);
          resolve(undefined);
        },
        onChange: (object) => add(object, false),
        onGone: (object) => add(object, true),
        onError: reject,
      },
    );
    return { listed, ended };
  }

  #knows({ metadata }: KubernetesObject): boolean {
    return this.#recorded.items.some(
      ({ object }) =>
        object.metadata.uid === metadata.uid && object.metadata.resourceVersion === metadata.resourceVersion,
    );
  }

  #isAbreastOf({ metadata }: KubernetesObject): boolean {
    return this.#recorded.items.some(
      ({ object, revision }) =>
        object.metadata.uid === metadata.uid && revision >= Number(metadata.resourceVersion),
    );
  }
}

export function heldBy(namespace: Namespace): Lock | undefined {
  const state = lockOf(namespace);
  return state.kind === 'held' ? state.lock : undefined;
}

const isNamed = ({ metadata }: KubernetesObject, name: string | undefined): boolean =>
  name === undefined || metadata.name === name;

function describeVersion({ kind, gone, object, revision }: Version): string {
  const { name, annotations, labels } = object.metadata;
  const { status, reason, message } = object as { status?: unknown; reason?: string; message?: string };
  const content = JSON.stringify({ annotations, labels, status, reason, message }).slice(0, 300);
  return `${revision} ${kind} ${name}${gone ? ' (gone)' : ''} ${content}`;
}
