import type {
  KubernetesEvent,
  KubernetesObject,
  Namespace,
  ResourceQuota,
  Vmmrq,
} from '../../functions/domain/objects.ts';
import type { MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { follow } from '../../functions/kubernetes/follow.ts';
import {
  EVENTS,
  NAMESPACES,
  PROGRESSES,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../functions/kubernetes/resources.ts';
import {
  FULL_KUBEVIRTS,
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  type FullKubeVirt,
} from '../../test/cluster/kubevirt/objects/objects.ts';
import type { LauncherPod, Vmi, Vmim } from '../../test/cluster/kubevirt/objects/types.ts';

/** The watched kinds. */
interface Kinds {
  readonly Namespace: Namespace;
  readonly ResourceQuota: ResourceQuota;
  readonly VirtualMachineMigrationResourceQuota: Vmmrq;
  readonly VirtualMachineInstance: Vmi;
  readonly VirtualMachineInstanceMigration: Vmim;
  readonly Pod: LauncherPod;
  readonly Event: KubernetesEvent;
  readonly KubeVirt: FullKubeVirt;
  readonly MaintenanceProgress: MaintenanceProgress;
}
export type Kind = keyof Kinds;

const TYPES: { readonly [K in Kind]: ResourceType<Kinds[K]> } = {
  Namespace: NAMESPACES,
  ResourceQuota: RESOURCE_QUOTAS,
  VirtualMachineMigrationResourceQuota: VMMRQS,
  VirtualMachineInstance: FULL_VMIS,
  VirtualMachineInstanceMigration: FULL_MIGRATIONS,
  Pod: LAUNCHER_PODS,
  Event: EVENTS,
  KubeVirt: FULL_KUBEVIRTS,
  MaintenanceProgress: PROGRESSES,
};

/** A version of an object and the previous one. Without `before` it is new, without `after` it is gone. */
export type Change = {
  readonly [K in Kind]: {
    readonly kind: K;
    /** Time of the watch's report, milliseconds since 1970. */
    readonly at: number;
    /** etcd's order, common to all kinds. */
    readonly version: bigint;
    readonly before: Kinds[K] | undefined;
    readonly after: Kinds[K] | undefined;
  };
}[Kind];

/** Milliseconds since 1970, more precise than Date.now() and without jumps. */
export const now = (): number => performance.timeOrigin + performance.now();

/** An administrator's watches on a cluster: the newest objects, and every change since the start. */
export class Watching {
  readonly changes: Change[] = [];
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #listeners = new Set<() => void>();
  readonly #over = new AbortController();
  readonly #following: Promise<unknown>[] = [];

  /** Resolves when every kind is listed; existing objects are no changes. */
  async start(cluster: Cluster): Promise<void> {
    const kinds = Object.keys(TYPES) as Kind[];
    await Promise.all(kinds.map((kind) => this.#follow(cluster, kind)));
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#following);
  }

  find<K extends Kind>(kind: K, name: string, namespace = ''): Kinds[K] | undefined {
    return this.#objects.get(`${kind} ${namespace}/${name}`) as Kinds[K] | undefined;
  }

  all<K extends Kind>(kind: K, namespace: string): Kinds[K][] {
    const found = [...this.#objects].filter(([key]) => key.startsWith(`${kind} ${namespace}/`));
    return found.map(([, object]) => object as Kinds[K]);
  }

  /** Checks `holds` after every change. Resolves to true once it is true, to false when `signal` aborts first. */
  async until(holds: () => boolean, signal: AbortSignal): Promise<boolean> {
    if (holds()) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const giveUp = (): void => resolve(false);
    const listener = (): void => {
      if (holds()) resolve(true);
    };
    this.#listeners.add(listener);
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
    const held = await promise;
    signal.removeEventListener('abort', giveUp);
    this.#listeners.delete(listener);
    return held;
  }

  #follow(cluster: Cluster, kind: Kind): Promise<void> {
    const { promise: listed, resolve } = Promise.withResolvers<undefined>();
    const type: ResourceType = TYPES[kind];
    let isFirst = true;
    const ended = follow(
      cluster,
      { type, where: {}, signal: this.#over.signal },
      {
        onList: (objects) => {
          for (const object of objects) {
            if (isFirst) this.#objects.set(keyOf(kind, object), object);
            else this.#put(kind, object);
          }
          isFirst = false;
          resolve(undefined);
        },
        onChange: (object) => this.#put(kind, object),
        onGone: (object) => this.#remove(kind, object),
        onError: () => undefined,
      },
    );
    this.#following.push(ended);
    return listed;
  }

  #put(kind: Kind, object: KubernetesObject): void {
    const key = keyOf(kind, object);
    const before = this.#objects.get(key);
    this.#objects.set(key, object);
    if (before?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#tell(kind, before, object);
  }

  #remove(kind: Kind, object: KubernetesObject): void {
    this.#objects.delete(keyOf(kind, object));
    // The version of a deletion is that of the object's last state, which the watch sends with it.
    this.#tell(kind, object, undefined);
  }

  #tell(kind: Kind, before: KubernetesObject | undefined, after: KubernetesObject | undefined): void {
    const version = BigInt((after ?? before)?.metadata.resourceVersion ?? 0);
    this.changes.push({ kind, at: now(), version, before, after } as Change);
    for (const listener of this.#listeners) listener();
  }
}

const keyOf = (kind: Kind, { metadata }: KubernetesObject): string =>
  `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
