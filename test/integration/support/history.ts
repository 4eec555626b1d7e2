import type { KubernetesObject, Namespace } from '../../../functions/domain/objects.ts';
import { lockOf, type Lock } from '../../../functions/domain/lock.ts';
import type { Cluster, ResourceType, Selection } from '../../../functions/kubernetes/cluster.ts';
import { follow } from '../../../functions/kubernetes/follow.ts';
import {
  EVENTS,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { FULL_MIGRATIONS, FULL_VMIS } from '../../../local/kubevirt/objects.ts';
import { Recorded } from './eventually.ts';

/** One version of one object. */
export interface Version {
  readonly kind: string;
  /** etcd's revision: orders the versions of all kinds. */
  readonly revision: number;
  readonly gone: boolean;
  readonly object: KubernetesObject;
  /** When we heard of it, milliseconds since 1970. */
  readonly at: number;
}

const IN_NAMESPACE = [RESOURCE_QUOTAS, PODS, EVENTS, VMMRQS, FULL_MIGRATIONS, FULL_VMIS];

/** Every version of a namespace and of what is in it, by watches, from its beginning. */
export class History {
  readonly #recorded = new Recorded<Version>(describeVersion);
  readonly #over = new AbortController();
  #following: Promise<unknown> = Promise.resolve();

  /** Resolves when it sees every change from now on. */
  static async start(cluster: Cluster, namespace: string): Promise<History> {
    const history = new History();
    const streams: [ResourceType, Selection][] = [
      [NAMESPACES, { fieldSelector: `metadata.name=${namespace}` }],
      ...IN_NAMESPACE.map((type): [ResourceType, Selection] => [type, { namespace }]),
    ];
    const started = streams.map(([type, where]) => history.#follow(cluster, type, where));
    history.#following = Promise.all(started.map(({ ended }) => ended));
    await Promise.all(started.map(({ listed }) => listed));
    return history;
  }

  /** In the order of their revisions: the order in which the API server did them. */
  versions(): readonly Version[] {
    return this.#recorded.items.toSorted((one, other) => one.revision - other.revision);
  }

  /** Every version of the objects of one type, oldest first. */
  of<T extends KubernetesObject>(type: ResourceType<T>, name?: string): T[] {
    return this.versions()
      .filter(({ kind, gone, object }) => kind === type.kind && !gone && isNamed(object, name))
      .map(({ object }) => object as T);
  }

  /** The newest version; undefined: never there, or gone. */
  latest<T extends KubernetesObject>(type: ResourceType<T>, name?: string): T | undefined {
    const last = this.versions().findLast(({ kind, object }) => kind === type.kind && isNamed(object, name));
    return last === undefined || last.gone ? undefined : (last.object as T);
  }

  isGone(type: ResourceType, name?: string): boolean {
    const last = this.versions().findLast(({ kind, object }) => kind === type.kind && isNamed(object, name));
    return last?.gone === true;
  }

  /** Every lock that was ever there, by its token, as it was taken. */
  locks(): Lock[] {
    const held = this.of(NAMESPACES).flatMap((namespace) => heldBy(namespace) ?? []);
    return [...new Map(held.toReversed().map((lock) => [lock.token, lock])).values()].toReversed();
  }

  /** From the first lock to the first version without one after it, milliseconds; undefined: it is not over, or never began. */
  lockedMs(): number | undefined {
    const namespaces = this.versions().filter(({ kind }) => kind === NAMESPACES.kind);
    const isFree = ({ object }: Version): boolean => lockOf(object).kind === 'none';
    const first = namespaces.findIndex((version) => !isFree(version));
    const end = namespaces.slice(first + 1).find(isFree);
    const start = namespaces[first];
    return start === undefined || end === undefined ? undefined : end.at - start.at;
  }

  isLocked(): boolean {
    const namespace = this.latest(NAMESPACES);
    return namespace !== undefined && lockOf(namespace).kind !== 'none';
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
