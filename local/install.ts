import type { KubernetesObject } from '../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../functions/kubernetes/cluster.ts';
import { VMMRQS } from '../functions/kubernetes/resources.ts';
import { untilServed } from './served.ts';

/** Kinds that stand-ins play here, not the API server: Knative's CRDs cannot be had on one machine without Knative. */
const isPlayed = ({ apiVersion = '', kind }: KubernetesObject): boolean =>
  apiVersion.includes('.knative.dev/') || kind === 'Deployment' || kind === 'Service';

interface Webhooks extends KubernetesObject {
  webhooks: { clientConfig: { service: { port: number } } }[];
}

/**
 * Installs the rendered manifests as an administrator does. Of the guard's Deployment and Service only the name is kept:
 * the Service becomes an ExternalName for this machine, where the guard runs as a process on `guardPort`.
 */
export async function install(
  admin: Cluster,
  objects: readonly KubernetesObject[],
  guardPort: number,
): Promise<void> {
  for (const object of objects.filter((each) => !isPlayed(each))) {
    await admin.create(
      typeOf(object),
      object.kind === 'ValidatingWebhookConfiguration' ? onPort(object, guardPort) : object,
    );
  }
  const services: ResourceType = { apiVersion: 'v1', kind: 'Service', plural: 'services', namespaced: true };
  for (const { metadata } of objects.filter(
    ({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'Service',
  )) {
    const spec = { type: 'ExternalName', externalName: 'localhost' };
    await admin.create(services, { metadata, ...{ spec } });
  }
  await untilServed(admin, VMMRQS);
}

/** In the cluster a Service maps 443 to the container's port; an ExternalName maps nothing. */
function onPort(object: KubernetesObject, port: number): KubernetesObject {
  const configuration = structuredClone(object) as Webhooks;
  for (const { clientConfig } of configuration.webhooks) clientConfig.service.port = port;
  return configuration;
}

/** As the API machinery guesses it (meta.UnsafeGuessKindToResource): right for every kind that we install. */
function typeOf({ apiVersion = '', kind = '', metadata }: KubernetesObject): ResourceType {
  return { apiVersion, kind, plural: `${kind.toLowerCase()}s`, namespaced: metadata.namespace !== undefined };
}
