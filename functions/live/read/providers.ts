import type { NamedReference, Provider } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { named } from '../../domain/live/reference.ts';
import type { ApiServer, Cluster, Reader } from '../../kubernetes/cluster.ts';
import { ApiError, Busy, describeError } from '../../kubernetes/errors.ts';
import { PROVIDERS, SECRETS, type Secret } from '../../kubernetes/live-resources.ts';
import { NAMESPACES } from '../../kubernetes/resources.ts';
import { getOrUndefined, unlessForbidden } from './get.ts';
import { isHost, providerFindings, type Answer, type ProviderView } from '../findings/providers.ts';
import type { Reach } from './remote.ts';
import type { RunProvider } from '../run/run-clusters.ts';

/** A provider, as read with its Secret. */
export interface FoundProvider extends Pick<ProviderView, 'provider' | 'secret' | 'allowLoopback'> {
  readonly secretObject: Secret | undefined;
  /** The cluster; undefined if something of the provider or its Secret is wrong, so that no request is sent. */
  readonly cluster: ApiServer | undefined;
}

/** Returns what a run pins of its provider. */
export const runProviderOf = (provider: Provider): RunProvider => ({
  uid: provider.metadata.uid,
  isHub: isHost(provider),
});

/** Reads the provider; undefined if there is none, or another one than `as`. Rejects if the hub does not answer. */
export async function readProvider(
  at: NamedReference & { readonly as?: RunProvider },
  reach: Reach,
): Promise<FoundProvider | undefined> {
  const provider = await getProvider(at, reach.hub);
  if (provider === undefined) return undefined;
  const { uid, isHub } = runProviderOf(provider);
  const isAnother = at.as !== undefined && (at.as.uid !== uid || at.as.isHub !== isHub);
  return isAnother ? undefined : readCluster(provider, reach);
}

/** Reads the provider alone; undefined if there is none. */
export const getProvider = async (
  { namespace = '', name = '' }: NamedReference,
  hub: Pick<Reader, 'get'>,
): Promise<Provider | undefined> =>
  name === '' ? undefined : getOrUndefined(hub.get(PROVIDERS, { namespace, name }));

/** Reads the Secret of the provider. */
export async function readCluster(provider: Provider, { hub, remotes }: Reach): Promise<FoundProvider> {
  const secretObject = isHost(provider) ? undefined : await readSecret(provider, hub);
  const view = withoutCluster(provider, remotes, secretObject);
  // The stored conditions may be old, and any user with the right may have written them.
  const isUsable = providerFindings({ ...view, answer: { kind: 'ok' } }).some(
    ({ type }) => type === LIVE_CONDITION.ready,
  );
  return isUsable ? { ...view, cluster: clusterOf(provider, secretObject, { hub, remotes }) } : view;
}

/** Returns the provider to which no request is sent. */
export const withoutCluster = (
  provider: Provider,
  { allowLoopback }: Reach['remotes'],
  secretObject?: Secret,
): FoundProvider => ({
  ...{ provider, secretObject, allowLoopback, cluster: undefined },
  secret: secretObject && secretViewOf(secretObject),
});

/** Reads the Secret, only from the provider's own namespace. */
async function readSecret({ metadata, spec }: Provider, hub: Cluster): Promise<Secret | undefined> {
  const { name, namespace = metadata.namespace } = named(spec.secret ?? {});
  if (name === '' || namespace === undefined || namespace !== metadata.namespace) return undefined;
  // The Role of a namespace that is being deleted is gone: then the cluster cannot be reached, and the run reports it.
  return unlessForbidden(getOrUndefined(hub.get(SECRETS, { namespace, name })), undefined);
}

const textOf = ({ data = {} }: Secret, key: string): string | undefined => {
  const content = data[key];
  return content === undefined ? undefined : Buffer.from(content, 'base64').toString('utf8').trim();
};

const secretViewOf = (secret: Secret): NonNullable<ProviderView['secret']> => ({
  labels: secret.metadata.labels ?? {},
  hasToken: (textOf(secret, 'token') ?? '') !== '',
  url: textOf(secret, 'url'),
  isInsecure: textOf(secret, 'insecureSkipVerify') === 'true',
});

function clusterOf(
  { spec, metadata }: Provider,
  secret: Secret | undefined,
  { hub, remotes }: Reach,
): ApiServer {
  if (secret === undefined) return hub;
  return remotes.at({
    url: spec.url ?? '',
    token: textOf(secret, 'token') ?? '',
    // Forklift's older Secrets have `cacert`.
    ca: textOf(secret, 'ca.crt') ?? textOf(secret, 'cacert'),
    isInsecure: textOf(secret, 'insecureSkipVerify') === 'true',
    tenant: metadata.namespace ?? '',
  });
}

export type ClusterIdentity =
  | { readonly answer: { readonly kind: 'ok' }; readonly id: string }
  | { readonly answer: Exclude<Answer, { readonly kind: 'ok' }> };

/** Reads the id of the API server's cluster. Rejects only with Busy: nothing is known then, and the caller is to try again. */
export async function identifyCluster(cluster: Cluster): Promise<ClusterIdentity> {
  try {
    const { object } = await cluster.get(NAMESPACES, { name: 'kube-system' });
    const { uid } = object.metadata;
    return ID.test(uid) ? { answer: { kind: 'ok' }, id: uid } : { answer: { kind: 'unreachable' } };
  } catch (error) {
    if (error instanceof Busy) throw error;
    const kind = error instanceof ApiError ? KIND_OF[error.code] : undefined;
    return kind === undefined
      ? { answer: { kind: 'unreachable' } }
      : { answer: { kind, message: describeError(error) } };
  }
}

/** Two of them are in an annotation, and each event has one. */
const ID = /^[\w.-]{1,63}$/;

const KIND_OF: Readonly<Record<number, 'unauthorized' | 'forbidden'>> = {
  401: 'unauthorized',
  403: 'forbidden',
};
