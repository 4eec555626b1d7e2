import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { startActivator, type Activator, type ActivatorTrace, type LogLine } from './activator.ts';
import { ApiServerSourceAdapter } from './adapter.ts';
import { Addresses, resolveDestination, serviceUrl } from './addresses.ts';
import { brokerClusterUrl, startBroker, type Hop, type RunningBroker } from './broker.ts';
import type { CloudEvent } from './cloudevent.ts';
import { knativeObjects, type ApiServerSource, type Manifest } from './manifests.ts';
import type { Sent } from './sink.ts';

export interface EventingOptions {
  /** The rendered manifests of an installation; kinds that Knative does not act on are left alone. */
  readonly objects: readonly Manifest[];
  /** The API server's URL: the `source` of the adapter's events. */
  readonly server: string;
  readonly clusterFor: (serviceAccount: string) => Cluster | Promise<Cluster>;
  readonly kubeconfigFor: (serviceAccount: string) => string | Promise<string>;
  /** Where the functions' bundle is. */
  readonly bundle: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly inPods?: boolean;
  readonly idleMs?: number;
  /** Other Services on this machine: host (with the port when it is not 80) to base URL. */
  readonly addresses?: Readonly<Record<string, string>>;
  readonly onHop?: (hop: Hop) => void;
  readonly onActivity?: (trace: ActivatorTrace) => void;
  readonly onLog?: (line: LogLine) => void;
  readonly onSent?: (event: CloudEvent, sent: Sent) => void;
  /** What the adapters would log. */
  readonly log?: (line: string) => void;
}

export interface Eventing {
  /** The Broker's ingress on this machine. Throws when there is no such Broker. */
  readonly brokerUrl: (namespace: string, name: string) => string;
  readonly broker: RunningBroker;
  readonly activator: Activator;
  readonly sources: readonly ApiServerSourceAdapter[];
  /** Cluster DNS for other processes here: replaces cluster URLs in the text by local ones. */
  readonly rewrite: (text: string) => string;
  readonly stop: () => Promise<void>;
}

/**
 * Knative for one installation: its one Broker with all Triggers, a port for each Service, an adapter for each source.
 * Resolves when the sources see changes. Rejects, and leaves nothing behind, when the manifests are inconsistent.
 */
export async function startEventing(options: EventingOptions): Promise<Eventing> {
  const { brokers, triggers, sources, services } = knativeObjects(options.objects);
  const [broker, ...more] = brokers;
  if (broker === undefined || more.length > 0) throw new Error(`one Broker is needed, not ${brokers.length}`);
  const addresses = new Addresses();
  Object.entries(options.addresses ?? {}).forEach(([host, local]) => addresses.add(host, local));
  const rewrite = (text: string): string => addresses.rewrite(text);
  const ending: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of ending.splice(0).reverse()) await end();
  };

  try {
    const activator = await startActivator({
      services,
      rewrite,
      ...pick(options, ['bundle', 'kubeconfigFor', 'inPods', 'env', 'idleMs', 'onLog']),
      ...(options.onActivity === undefined ? {} : { onTrace: options.onActivity }),
    });
    ending.push(() => activator.stop());
    for (const { metadata } of services) {
      addresses.add(hostOf(serviceUrl(metadata)), activator.url(metadata.name) ?? '');
    }
    const running = await startBroker({
      broker,
      triggers,
      resolve: resolveDestination,
      locate: rewrite,
      ...(options.onHop === undefined ? {} : { onTrace: options.onHop }),
    });
    ending.push(() => running.stop());
    const ingress = brokerClusterUrl(broker.metadata);
    addresses.add(hostOf(ingress), new URL(running.url).origin);

    await activator.startKept();
    const adapters: ApiServerSourceAdapter[] = [];
    for (const source of sources) {
      const adapter = await startAdapter(source, options, rewrite);
      ending.push(() => adapter.stop());
      adapters.push(adapter);
    }
    return {
      brokerUrl: (namespace, name) => {
        if (brokerClusterUrl({ namespace, name }) === ingress) return running.url;
        throw new Error(`there is no Broker ${namespace}/${name}`);
      },
      broker: running,
      activator,
      sources: adapters,
      rewrite,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startAdapter(
  source: ApiServerSource,
  options: EventingOptions,
  rewrite: (text: string) => string,
): Promise<ApiServerSourceAdapter> {
  const adapter = new ApiServerSourceAdapter({
    source,
    cluster: await options.clusterFor(source.spec.serviceAccountName),
    sinkUrl: rewrite(resolveDestination(source.spec.sink, source.metadata.namespace)),
    ...pick(options, ['server', 'onSent', 'log']),
  });
  await adapter.start();
  return adapter;
}

const hostOf = (url: string): string => new URL(url).host;

/** Those of the keys that are there. */
function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.flatMap((key) => (key in from ? [[key, from[key]]] : []))) as Pick<T, K>;
}
