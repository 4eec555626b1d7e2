import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { setTimeout as delay } from 'node:timers/promises';
import type { Address, Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { VMMRQS } from '../../functions/kubernetes/resources.ts';
import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { guessPlural } from './eventing/source.ts';
import { untilServed } from './served.ts';

/** Kinds that stand-ins handle here, not the API server: Knative's CRDs need an installed Knative. */
const isPlayed = ({ apiVersion = '', kind }: KubernetesObject): boolean =>
  apiVersion.includes('.knative.dev/') || kind === 'Deployment' || kind === 'Service';

const GONE_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 50;

interface Webhooks extends KubernetesObject {
  webhooks: { clientConfig: { service: { port: number } } }[];
}

/**
 * Installs the rendered manifests as an administrator. It keeps only the name of the guard's Deployment and Service:
 * the Service becomes an ExternalName for this machine, where the guard runs as a process on `guardPort`.
 */
export async function install(
  admin: Cluster,
  objects: readonly KubernetesObject[],
  guardPort: number,
): Promise<void> {
  for (const object of objects.filter((each) => !isPlayed(each)))
    await admin.create(typeOf(object), isWebhooks(object) ? onPort(object, guardPort) : object);
  const services: ResourceType = { apiVersion: 'v1', kind: 'Service', plural: 'services', namespaced: true };
  for (const { metadata } of objects.filter(
    ({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'Service',
  )) {
    const spec = { type: 'ExternalName', externalName: 'localhost' };
    await admin.create(services, { metadata, ...{ spec } });
  }
  await untilServed(admin, VMMRQS);
}

/** The installed webhooks call a guard on this port from now on. */
export async function pointWebhooksTo(
  admin: Cluster,
  objects: readonly KubernetesObject[],
  guardPort: number,
): Promise<void> {
  for (const object of objects.filter(isWebhooks)) {
    const { webhooks } = onPort(object, guardPort);
    await admin.patch(typeOf(object), addressOf(object), { merge: { webhooks } });
  }
}

/**
 * Deletes them like `kubectl delete -k`: in rendered order, the namespace first and the webhooks
 * last, with their content. Resolves when everything is gone.
 */
export async function uninstall(admin: Cluster, objects: readonly KubernetesObject[]): Promise<void> {
  const ours = objects.filter((each) => !isPlayed(each));
  for (const object of ours) await ignoreNotFound(admin.delete(typeOf(object), addressOf(object)));
  for (const object of ours) await untilGone(admin, object);
}

async function untilGone(admin: Cluster, object: KubernetesObject): Promise<void> {
  const until = performance.now() + GONE_WITHIN_MS;
  while ((await ignoreNotFound(admin.get(typeOf(object), addressOf(object)))) !== undefined) {
    if (performance.now() > until)
      throw new Error(`${object.kind ?? ''} ${object.metadata.name} is not gone`);
    await delay(LOOK_EVERY_MS);
  }
}

const addressOf = ({ metadata: { name, namespace } }: KubernetesObject): Address => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
});

const isWebhooks = ({ kind }: KubernetesObject): boolean => kind?.endsWith('WebhookConfiguration') === true;

/** In the cluster a Service maps 443 to the container's port; an ExternalName maps nothing. */
function onPort(object: KubernetesObject, port: number): Webhooks {
  const configuration = structuredClone(object) as Webhooks;
  for (const { clientConfig } of configuration.webhooks) clientConfig.service.port = port;
  return configuration;
}

interface Scoped {
  readonly metadata: { readonly namespace?: string };
}

/** As the API machinery guesses it (meta.UnsafeGuessKindToResource): correct for every installed kind. */
export function typeOf(object: Pick<KubernetesObject, 'apiVersion' | 'kind'> & Scoped): ResourceType {
  const { apiVersion = '', kind = '', metadata } = object;
  return { apiVersion, kind, plural: guessPlural(kind), namespaced: metadata.namespace !== undefined };
}
