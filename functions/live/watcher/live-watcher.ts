import type { Cluster } from '../../kubernetes/cluster.ts';
import { describeError } from '../../kubernetes/errors.ts';
import { pause } from '../../runtime/clock.ts';
import { LiveWatches, type LiveWatchesOptions } from './live-watches.ts';
import { ClusterWatches } from './cluster-watches.ts';
import type { Post } from './latest-posts.ts';
import { both, keyOfProvider, wantedOf, type ProviderAt, type Wanted } from './wanted.ts';

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
  readonly connect: (provider: ProviderAt) => Promise<RemoteCluster | undefined>;
}

/** Milliseconds between two connects: a provider's token may have been replaced, or its cluster may be back or gone. */
const CONNECT_MS = 30_000;

/** Watches the objects that the runs under way move, in their clusters, and posts the changed ones. */
export class LiveWatcher {
  readonly #options: LiveWatcherOptions;
  readonly #runs: LiveWatches;
  readonly #clusters = new Map<Cluster, ClusterWatches>();
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
      if (this.#runs.isReady) this.#watchOthers();
      await pause(this.#options.clock, CONNECT_MS, until);
    }
    await watching;
    await Promise.all([...this.#clusters.values()].map((watches) => watches.stop()));
  }

  /** Starts and stops watches, without waiting for any cluster: a slow one must not delay another. */
  #watchOthers(): void {
    const wanted = this.#wantedByCluster();
    for (const [cluster, watches] of this.#clusters) {
      if (wanted.get(cluster)?.id === watches.id) continue;
      this.#clusters.delete(cluster);
      void watches.stop();
    }
    for (const [cluster, { id, of }] of wanted) {
      const watches = this.#clusters.get(cluster) ?? new ClusterWatches({ ...this.#options, cluster, id });
      this.#clusters.set(cluster, watches);
      watches.watch(of);
    }
  }

  /** Returns the watched objects by API server and token. Not by the cluster's id: a server may claim the one of another. */
  #wantedByCluster(): Map<Cluster, { readonly id: string; readonly of: Wanted }> {
    const { migrations, plans } = this.#runs;
    const byCluster = new Map<Cluster, { readonly id: string; readonly of: Wanted }>();
    const providers = new Set<string>();
    for (const { provider, ...wanted } of wantedOf(migrations, plans)) {
      const key = keyOfProvider(provider);
      providers.add(key);
      const remote = this.#connect(key, provider);
      if (remote === undefined) continue;
      const { cluster, id } = remote;
      byCluster.set(cluster, { id, of: both(byCluster.get(cluster)?.of, wanted) });
    }
    for (const key of this.#asked.keys()) if (!providers.has(key)) this.#asked.delete(key);
    return byCluster;
  }

  /** Returns what is known of the cluster. What is old is asked for: the answer is another look. */
  #connect(key: string, provider: ProviderAt): RemoteCluster | undefined {
    const known = this.#asked.get(key);
    const now = this.#options.clock.elapsed();
    if (known === undefined || now - known.at >= CONNECT_MS) {
      const asking = { remote: known?.remote, at: now };
      this.#asked.set(key, asking);
      void this.#ask(provider).then((remote) => {
        // The runs of the provider may be over.
        if (this.#asked.get(key) !== asking) return;
        this.#asked.set(key, { ...asking, remote });
        if (remote?.cluster !== asking.remote?.cluster || remote?.id !== asking.remote?.id)
          this.#look.abort();
      });
    }
    return known?.remote;
  }

  /** Never rejects. */
  #ask(provider: ProviderAt): Promise<RemoteCluster | undefined> {
    const { connect, log } = this.#options;
    return connect(provider).catch((error: unknown) => {
      log('warn', `not connected: ${describeError(error)}`, { provider });
      return undefined;
    });
  }
}
