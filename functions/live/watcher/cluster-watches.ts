import { createHash } from 'node:crypto';
import { LIVE_LABEL } from '../../domain/live/names.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { referenceEventOf, type Referred } from '../../eventing/live-events.ts';
import type { Cluster, ResourceType, Selection } from '../../kubernetes/cluster.ts';
import { describeError } from '../../kubernetes/errors.ts';
import { follow } from '../../kubernetes/follow.ts';
import { DATA_VOLUMES, VIRTUAL_MACHINES, VMIMS, WHOLE_VMIS } from '../../kubernetes/live-resources.ts';
import { LatestPosts, type LatestPostsOptions } from './latest-posts.ts';
import type { RunAt, Wanted } from './wanted.ts';
import { whatCounts } from './what-counts.ts';

/** Kinds that are watched by mtq's label. The Jobs of hooks have a source of their own in the cluster of the plans. */
const LABELLED: readonly ResourceType[] = [VMIMS, DATA_VOLUMES];
/** Kinds that are watched by the name of the VM. */
const NAMED: readonly ResourceType[] = [VIRTUAL_MACHINES, WHOLE_VMIS];

export interface ClusterWatchesOptions extends LatestPostsOptions {
  readonly cluster: Cluster;
  /** The uid of its namespace kube-system. */
  readonly id: string;
}

/** The watches of one cluster: each resumes from the last version that it saw. */
export class ClusterWatches {
  readonly #options: ClusterWatchesOptions;
  readonly #posts: LatestPosts;
  readonly #watches = new Map<string, AbortController>();
  readonly #running = new Set<Promise<void>>();
  #wanted: Wanted = { namespaces: new Set(), runs: new Map(), vms: new Map() };

  constructor(options: ClusterWatchesOptions) {
    this.#options = options;
    this.#posts = new LatestPosts(options);
  }

  get id(): string {
    return this.#options.id;
  }

  /** Starts and stops watches, so that exactly these objects are watched. */
  watch(objects: Wanted): void {
    this.#wanted = objects;
    const wanted = selectionsOf(objects);
    for (const [key, stop] of this.#watches) if (!wanted.has(key)) this.#end(key, stop);
    for (const [key, selected] of wanted) if (!this.#watches.has(key)) this.#begin(key, selected);
  }

  /** Resolves when the last watch has ended. */
  async stop(): Promise<void> {
    for (const [key, stop] of this.#watches) this.#end(key, stop);
    await Promise.all(this.#running);
  }

  #end(key: string, stop: AbortController): void {
    stop.abort();
    this.#watches.delete(key);
  }

  #begin(key: string, selected: Selected): void {
    const stop = new AbortController();
    this.#watches.set(key, stop);
    const running = this.#follow(selected, stop.signal).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #follow(selected: Selected, signal: AbortSignal): Promise<void> {
    const { cluster, clock, log, id } = this.#options;
    const { type, where, absent } = selected;
    const say = (change: Referred['change'], object: KubernetesObject): void => {
      const runs = this.#runsOf(selected, object);
      if (runs.length === 0) return;
      this.#posts.add(object.metadata.uid, referenceEventOf({ change, object, type, cluster: id, runs }));
    };
    const seen = new Seen(say, () => absent?.(clock.now().getTime()));
    await follow(
      cluster,
      { type, where, clock, signal, isOptional: true },
      {
        onList: (objects) => seen.list(objects),
        onChange: (object) => seen.change(object),
        onGone: (object) => seen.gone(object),
        onError: (error) =>
          log('warn', `watching ${type.plural} of cluster ${id} again: ${describeError(error)}`),
      },
    );
  }

  /** Returns the Migrations that go on by the object; none if a run that is over has left it. */
  #runsOf({ vm }: Selected, { metadata }: KubernetesObject): readonly RunAt[] {
    if (vm !== undefined) return this.#wanted.vms.get(vm) ?? [];
    const run = this.#wanted.runs.get(metadata.labels?.[LIVE_LABEL.migration] ?? '');
    return run === undefined ? [] : [run];
  }
}

interface Selected {
  readonly type: ResourceType;
  readonly where: Selection;
  /** `namespace/name` of the VM; left out: objects with mtq's label. */
  readonly vm?: string;
  /**
   * Returns a VMI that the first list lacks. It may have gone a moment before, while this process started, without any other event. `now`:
   * milliseconds.
   */
  readonly absent?: (now: number) => KubernetesObject;
}

/** Returns the selections by key, for one watch each. */
function selectionsOf({ namespaces, vms }: Wanted): ReadonlyMap<string, Selected> {
  const labelled = [...namespaces].flatMap((namespace) =>
    LABELLED.map((type): [string, Selected] => {
      const where = { namespace, labelSelector: LIVE_LABEL.migration };
      return [`${type.plural} ${namespace}`, { type, where }];
    }),
  );
  const named = [...vms.keys()].flatMap((vm) =>
    NAMED.map((type): [string, Selected] => {
      const [namespace = '', name = ''] = vm.split('/');
      const selected = { vm, type, where: { namespace, fieldSelector: `metadata.name=${name}` } };
      if (type !== WHOLE_VMIS) return [`${type.plural} ${vm}`, selected];
      const absent = (now: number): KubernetesObject => ({
        metadata: { namespace, name, uid: vm, resourceVersion: String(now), creationTimestamp: '' },
      });
      return [`${type.plural} ${vm}`, { ...selected, absent }];
    }),
  );
  return new Map([...labelled, ...named]);
}

/** Known objects of a watch: more are not posted, and the guard's resync finds them. */
const MAX_KNOWN = 1_000;
/** Characters of a name in Kubernetes. */
const MAX_NAME = 253;

/** Whether the texts that are kept have the length that Kubernetes gives them. */
const isNamed = ({ name, namespace = '', uid, resourceVersion }: KubernetesObject['metadata']): boolean =>
  [name, namespace, uid, resourceVersion].every(
    (text) => typeof text === 'string' && text.length <= MAX_NAME,
  );

/** The known objects of one watch: their identities and a digest of the fields that count, so that no VM's secrets stay in memory. */
class Seen {
  readonly #say: (change: Referred['change'], object: KubernetesObject) => void;
  readonly #absent: () => KubernetesObject | undefined;
  #isListed = false;
  readonly #known = new Map<string, { readonly object: KubernetesObject; readonly counts: string }>();

  /** `absent`: the object that is gone if the first list is empty; undefined if there is none. */
  constructor(
    say: (change: Referred['change'], object: KubernetesObject) => void,
    absent: () => KubernetesObject | undefined,
  ) {
    this.#say = say;
    this.#absent = absent;
  }

  list(objects: readonly KubernetesObject[]): void {
    const absent = this.#isListed || objects.length > 0 ? undefined : this.#absent();
    this.#isListed = true;
    if (absent !== undefined) this.#say('delete', absent);
    const present = new Set(objects.map(({ metadata }) => metadata.uid));
    for (const [uid, { object }] of this.#known) if (!present.has(uid)) this.gone(object);
    for (const object of objects) this.change(object);
  }

  change(object: KubernetesObject): void {
    const { uid } = object.metadata;
    const known = this.#known.get(uid);
    if (!isNamed(object.metadata) || (known === undefined && this.#known.size >= MAX_KNOWN)) return;
    const counts = createHash('sha256').update(whatCounts(object)).digest('base64');
    if (known?.counts === counts) return;
    this.#known.set(uid, { object: { metadata: bare(object.metadata) }, counts });
    this.#say(known === undefined ? 'add' : 'update', object);
  }

  gone(object: KubernetesObject): void {
    if (this.#known.delete(object.metadata.uid)) this.#say('delete', object);
  }
}

function bare({
  name,
  namespace,
  uid,
  resourceVersion,
  creationTimestamp,
  labels,
}: KubernetesObject['metadata']): KubernetesObject['metadata'] {
  const run: unknown = labels?.[LIVE_LABEL.migration];
  return {
    ...{ name, uid, resourceVersion, creationTimestamp },
    ...(namespace === undefined ? {} : { namespace }),
    ...(typeof run === 'string' && run.length <= MAX_NAME ? { labels: { [LIVE_LABEL.migration]: run } } : {}),
  };
}
