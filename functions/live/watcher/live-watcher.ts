import type { NamedReference } from '../../domain/live/forklift.ts';
import type { Cluster } from '../../kubernetes/cluster.ts';
import { describeError } from '../../kubernetes/errors.ts';
import { pause } from '../../runtime/clock.ts';
import { LiveWatches, type LiveWatchesOptions } from './live-watches.ts';
import { ClusterWatches } from './cluster-watches.ts';
import type { Post } from './latest-posts.ts';
import { both, wantedOf, type Wanted } from './wanted.ts';

/** A cluster of a run. */
export interface RemoteCluster {
  /** The API server: the same object as long as address and token are the same. */
  readonly cluster: Cluster;
  /** The uid of its namespace kube-system. */
  readonly id: string;
}

export interface LiveWatcherOptions extends Omit<LiveWatchesOptions, 'onChange'> {
  readonly post: Post;
  /** Connects to the provider's cluster; undefined if it cannot be reached now. */
  readonly connect: (provider: Required<NamedReference>) => Promise<RemoteCluster | undefined>;
}

/** Milliseconds between two connects: a provider's token may have been replaced, or its cluster may be back or gone. */
const CONNECT_MS = 30_000;

/** Watches the objects that the runs under way move, in their clusters, and posts the changed ones. */
export class LiveWatcher {
  readonly #options: LiveWatcherOptions;
  readonly #runs: LiveWatches;
  readonly #clusters = new Map<string, ClusterWatches>();
  /** Clusters by `namespace/name` of the provider, each with the time of the last connect. */
  readonly #asked = new Map<string, { readonly remote: RemoteCluster | undefined; readonly at: number }>();
  #look = new AbortController();

  constructor(options: LiveWatcherOptions) {
    this.#options = options;
    this.#runs = new LiveWatches({ ...options, onChange: () => this.#look.abort() });
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const watching = this.#runs.run(signal);
    while (!signal.aborted) {
      this.#look = new AbortController();
      const until = AbortSignal.any([signal, this.#look.signal]);
      if (this.#runs.isReady) await this.#watchOthers();
      await pause(this.#options.clock, CONNECT_MS, until);
    }
    await watching;
    await Promise.all([...this.#clusters.values()].map((watches) => watches.stop()));
  }

  async #watchOthers(): Promise<void> {
    const wanted = await this.#wantedByCluster();
    const ended = [...this.#clusters].filter(([id, watches]) => wanted.get(id)?.cluster !== watches.cluster);
    for (const [id, watches] of ended) {
      this.#clusters.delete(id);
      await watches.stop();
    }
    for (const [id, { cluster, of }] of wanted) {
      const watches = this.#clusters.get(id) ?? new ClusterWatches({ ...this.#options, cluster, id });
      this.#clusters.set(id, watches);
      watches.watch(of);
    }
  }

  /** Returns the watched objects by cluster: two providers may be one cluster. */
  async #wantedByCluster(): Promise<Map<string, { readonly cluster: Cluster; readonly of: Wanted }>> {
    const { migrations, plans } = this.#runs;
    const byCluster = new Map<string, { readonly cluster: Cluster; readonly of: Wanted }>();
    for (const { provider, ...wanted } of wantedOf(migrations, plans)) {
      const remote = await this.#connect(provider);
      if (remote === undefined) continue;
      const known = byCluster.get(remote.id);
      byCluster.set(remote.id, { cluster: known?.cluster ?? remote.cluster, of: both(known?.of, wanted) });
    }
    return byCluster;
  }

  async #connect(provider: Required<NamedReference>): Promise<RemoteCluster | undefined> {
    const { connect, clock, log } = this.#options;
    const key = `${provider.namespace}/${provider.name}`;
    const known = this.#asked.get(key);
    if (known !== undefined && clock.elapsed() - known.at < CONNECT_MS) return known.remote;
    const remote = await connect(provider).catch((error: unknown) => {
      log('warn', `not connected: ${describeError(error)}`, { provider });
      return undefined;
    });
    this.#asked.set(key, { remote, at: clock.elapsed() });
    return remote;
  }
}
