import { brokerClusterUrl } from './broker.ts';
import type { Destination } from './manifests.ts';

/** A local port without a listener, like a Service without endpoints in a cluster. */
const UNUSED_URL = 'http://127.0.0.1:9';

const CLUSTER_NAME = /^([a-z0-9-]+)\.([a-z0-9-]+)(?:\.svc(?:\.cluster\.local)?)?$/;
const ORIGINS = /\bhttps?:\/\/[A-Za-z0-9.-]+(?::\d+)?/g;

/** Cluster DNS on one machine: maps a Service's host and port to a local address. */
export class Addresses {
  readonly #local = new Map<string, string>();

  /** `host`: a Service's name in any of its forms, with the port when it is not 80; `local`: a base URL. */
  add(host: string, local: string): void {
    this.#local.set(keyOf(new URL(`http://${host}`)), local.replace(/\/$/, ''));
  }

  /** Replaces every cluster URL in the text. A missing Service gets an address without a listener. */
  rewrite(text: string): string {
    return text.replaceAll(ORIGINS, (origin) => this.#find(new URL(origin)) ?? origin);
  }

  #find(url: URL): string | undefined {
    return this.#local.get(keyOf(url)) ?? (url.hostname.includes('.svc') ? UNUSED_URL : undefined);
  }
}

function keyOf({ protocol, hostname, port }: URL): string {
  const [, name, namespace] = CLUSTER_NAME.exec(hostname) ?? [];
  const host = name === undefined ? hostname : `${name}.${String(namespace)}`;
  return `${host}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
}

/** A Service's URL in the cluster, Knative's or Kubernetes' own. */
export const serviceUrl = ({ namespace, name }: { namespace: string; name: string }): string =>
  `http://${name}.${namespace}.svc.cluster.local`;

/** The cluster URL of a destination, as Knative's resolver makes it: `uri` is relative to `ref` when both are given. */
export function resolveDestination({ ref, uri }: Destination, namespace: string): string {
  if (ref === undefined) {
    if (uri !== undefined && URL.canParse(uri)) return uri;
    throw new Error('a destination needs a ref or an absolute uri');
  }
  const base = urlOfReference({ ...ref, namespace: ref.namespace ?? namespace });
  return uri === undefined ? base : new URL(uri, base).href;
}

function urlOfReference(ref: { apiVersion: string; kind: string; namespace: string; name: string }): string {
  switch (`${ref.apiVersion} ${ref.kind}`) {
    case 'serving.knative.dev/v1 Service':
    case 'v1 Service':
      return serviceUrl(ref);
    case 'eventing.knative.dev/v1 Broker':
      return brokerClusterUrl(ref);
    default:
      throw new Error(`no address for a reference to ${ref.apiVersion} ${ref.kind}`);
  }
}
