import { KUBEVIRT } from '../../functions/domain/names.ts';
import type {
  KubernetesEvent,
  KubernetesObject,
  Node,
  VirtualMachineInstance,
} from '../../functions/domain/objects.ts';
import { isOpen, type MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';
import {
  EVENTS_WITH_VERDICTS,
  LISTED_REFUSED_MIGRATIONS,
  LISTED_VERDICTS,
} from '../../functions/cluster/listed-events.ts';
import { LISTED_NODES, LISTED_VMIS_TO_MOVE } from '../../functions/cluster/listed-maintenance.ts';
import { REFUSALS } from '../../functions/cluster/snapshot.ts';
import type { Cluster, ListedType, ResourceType, Selection } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { follow, inMap } from '../../functions/kubernetes/follow.ts';
import { isLater } from '../../functions/domain/resource-version.ts';
import { PROGRESSES } from '../../functions/kubernetes/resources.ts';
import type { Clock } from '../../functions/runtime/clock.ts';
import type { Log } from '../../functions/runtime/log.ts';

export interface MaintenanceWatchesOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
}

/** The objects of one selection, kept up to date by a watch. */
interface Followed<T> {
  readonly objects: Map<string, T>;
  isListed: boolean;
}

/** A watch of Events that is on only while it is needed. */
interface FollowedEvents {
  readonly stop: AbortController;
  readonly events: Followed<KubernetesEvent>;
}

/** Maximum number of Events to keep, the newest: any editor of Events may write many. */
const MAX_EVENTS = 5_000;

/** A node and its VMIs, and those that migrate to it; undefined: they have not been listed. */
interface OnNode {
  readonly node: Node | undefined;
  readonly vmis: VirtualMachineInstance[];
  readonly arriving: VirtualMachineInstance[] | undefined;
}

const valuesOf = <T>({ objects }: Followed<T>): T[] => [...objects.values()];

/** Returns the objects; undefined until they are listed. */
const listedOf = <T>(followed: Followed<T>): T[] | undefined =>
  followed.isListed ? valuesOf(followed) : undefined;

/** The watches of one node: its VMIs, and itself where no other watch has it. */
interface FollowedNode {
  readonly stop: AbortController;
  readonly vmis: Followed<VirtualMachineInstance>;
  /** VMIs that migrate to it; undefined: no drain of it is open. */
  arriving: Followed<VirtualMachineInstance> | undefined;
  node: Followed<Node> | undefined;
}

/**
 * Watches cordoned nodes (`spec.unschedulable` is a field selector, so no other node's heartbeat arrives), outdated VMIs by label,
 * and our own objects. The VMIs of a node are watched while it may be drained, and verdicts while a migration waits.
 */
export class MaintenanceWatches {
  readonly #options: MaintenanceWatchesOptions;
  readonly #cordoned: Followed<Node> = { objects: new Map(), isListed: false };
  readonly #outdated: Followed<VirtualMachineInstance> = { objects: new Map(), isListed: false };
  readonly #progresses: Followed<MaintenanceProgress> = { objects: new Map(), isListed: false };
  readonly #nodes = new Map<string, FollowedNode>();
  #verdicts: FollowedEvents | undefined;
  #refusals: FollowedEvents | undefined;

  constructor(options: MaintenanceWatchesOptions) {
    this.#options = options;
  }

  /**
   * Whether drains can be observed. An upgrade makes every VM outdated, and a list that is too long for this process must not hold
   * these back.
   */
  get isReady(): boolean {
    return this.#cordoned.isListed && this.#progresses.isListed;
  }

  get cordoned(): string[] {
    return valuesOf(this.#cordoned).map(({ metadata }) => metadata.name);
  }

  /** Outdated VMIs; undefined until they are listed. */
  get outdated(): VirtualMachineInstance[] | undefined {
    return listedOf(this.#outdated);
  }

  get progresses(): MaintenanceProgress[] {
    return valuesOf(this.#progresses);
  }

  /** Events with feasibility's verdicts; undefined: they are being listed. None while they are not watched, or cannot be listed. */
  get verdicts(): KubernetesEvent[] | undefined {
    if (this.#verdicts === undefined) return [];
    return listedOf(this.#verdicts.events);
  }

  /** Events of migrations that KubeVirt could not create; none while they are not watched, or listed. */
  get refusals(): KubernetesEvent[] {
    return this.#refusals === undefined ? [] : valuesOf(this.#refusals.events);
  }

  /** A node and its VMIs; undefined: they have not been listed yet. */
  onNode(name: string): OnNode | undefined {
    const followed = this.#nodes.get(name);
    if (followed?.vmis.isListed !== true) return undefined;
    const arriving = followed.arriving && listedOf(followed.arriving);
    const vmis = { vmis: valuesOf(followed.vmis), arriving };
    const cordoned = this.#cordonedNode(name);
    if (cordoned !== undefined) return { node: cordoned, ...vmis };
    return followed.node?.isListed === true ? { node: valuesOf(followed.node)[0], ...vmis } : undefined;
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#follow(this.#cordoned, LISTED_NODES, {
        where: { fieldSelector: 'spec.unschedulable=true' },
        signal,
      }),
      this.#follow(this.#outdated, LISTED_VMIS_TO_MOVE, {
        where: { labelSelector: KUBEVIRT.outdatedLauncher },
        signal,
      }),
      this.#follow(this.#progresses, PROGRESSES, { where: {}, signal }),
    ]);
    for (const { stop } of this.#nodes.values()) stop.abort();
    this.#verdicts?.stop.abort();
    this.#refusals?.stop.abort();
  }

  /** Starts or stops the watch of verdicts. */
  watchVerdicts(areNeeded: boolean): void {
    if (areNeeded === (this.#verdicts !== undefined)) return;
    this.#verdicts?.stop.abort();
    this.#verdicts = areNeeded ? this.#watchEvents(LISTED_VERDICTS, EVENTS_WITH_VERDICTS) : undefined;
  }

  /** Starts or stops the watch of migrations that KubeVirt could not create. */
  watchRefusals(areNeeded: boolean): void {
    if (areNeeded === (this.#refusals !== undefined)) return;
    this.#refusals?.stop.abort();
    const where = { fieldSelector: REFUSALS };
    this.#refusals = areNeeded ? this.#watchEvents(LISTED_REFUSED_MIGRATIONS, where) : undefined;
  }

  /** Starts and stops the watches of nodes, so that exactly these are watched. */
  watchNodes(names: readonly string[]): void {
    for (const [name, { stop }] of this.#nodes) {
      if (names.includes(name)) continue;
      stop.abort();
      this.#nodes.delete(name);
    }
    for (const name of names) {
      const followed = this.#nodes.get(name) ?? this.#watchVmis(name);
      if (followed.node === undefined && this.#cordonedNode(name) === undefined)
        this.#watchNode(name, followed);
      if (followed.arriving === undefined && this.#isDrained(name)) this.#watchArriving(name, followed);
    }
  }

  /** Whether a drain of the node is open: a drain is not over while VMs migrate to its node. */
  #isDrained(name: string): boolean {
    return this.progresses.some((each) => each.spec.node?.name === name && isOpen(each));
  }

  #cordonedNode(name: string): Node | undefined {
    return valuesOf(this.#cordoned).find(({ metadata }) => metadata.name === name);
  }

  #watchVmis(name: string): FollowedNode {
    const vmis: Followed<VirtualMachineInstance> = { objects: new Map(), isListed: false };
    const stop = new AbortController();
    const followed: FollowedNode = { stop, vmis, arriving: undefined, node: undefined };
    this.#nodes.set(name, followed);
    const where = { labelSelector: `${KUBEVIRT.nodeName}=${name}` };
    void this.#follow(vmis, LISTED_VMIS_TO_MOVE, { where, signal: stop.signal });
    return followed;
  }

  #watchArriving(name: string, followed: FollowedNode): void {
    followed.arriving = { objects: new Map(), isListed: false };
    const where = { labelSelector: `${KUBEVIRT.migrationTarget}=${name}` };
    void this.#follow(followed.arriving, LISTED_VMIS_TO_MOVE, { where, signal: followed.stop.signal });
  }

  #watchEvents(type: ListedType<KubernetesEvent>, where: Selection): FollowedEvents {
    const events: Followed<KubernetesEvent> = { objects: new Map(), isListed: false };
    const stop = new AbortController();
    // A VM that a quota stops is reported even without its verdict.
    const how = { max: MAX_EVENTS, isDispensable: true, isUncached: true };
    void this.#follow(events, type, { where, signal: stop.signal, ...how });
    return { stop, events };
  }

  #watchNode(name: string, followed: FollowedNode): void {
    followed.node = { objects: new Map(), isListed: false };
    const where = { fieldSelector: `metadata.name=${name}` };
    void this.#follow(followed.node, LISTED_NODES, { where, signal: followed.stop.signal });
  }

  async #follow<T extends KubernetesObject>(
    followed: Followed<T>,
    type: ResourceType<T> | ListedType<T>,
    { where, signal, max = Infinity, isDispensable = false, isUncached = false }: Following,
  ): Promise<void> {
    const { cluster, clock, log } = this.#options;
    const { objects } = followed;
    const { onList, onChange, onGone } = inMap(objects);
    await follow<T>(
      cluster,
      { type, where, clock, signal, isOptional: true, isUncached },
      {
        onGone,
        onChange: (object) => {
          // The last of the map is the newest.
          onGone(object);
          onChange(object);
          const [oldest = ''] = objects.keys();
          if (objects.size > max) objects.delete(oldest);
        },
        onList: (listed) => {
          onList(listed.length > max ? listed.toSorted(byVersion).slice(-max) : listed);
          followed.isListed = true;
        },
        onError: (error) => {
          log('warn', `watching ${type.plural} again: ${describeError(error)}`);
          followed.isListed ||= isDispensable;
        },
      },
    );
  }
}

/** Sorts the newest to the end. */
const byVersion = (one: KubernetesObject, other: KubernetesObject): number =>
  isLater(one.metadata.resourceVersion, other.metadata.resourceVersion) ? 1 : -1;

interface Following {
  readonly where: Selection;
  readonly signal: AbortSignal;
  /** Maximum number of objects to keep, the newest. */
  readonly max?: number;
  /** Whether a failed list counts as an empty one. */
  readonly isDispensable?: boolean;
  /** Whether the list is uncached, as in follow.ts. */
  readonly isUncached?: boolean;
}
