import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';

/** authentication.k8s.io/v1 TokenRequest. */
interface TokenRequest extends KubernetesObject {
  spec: { expirationSeconds: number };
  status?: { token: string };
}

/** A subresource of the service account: of core/v1 by its path, of another group by its content. */
const tokensOf = (account: string): ResourceType<TokenRequest> => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: `serviceaccounts/${encodeURIComponent(account)}/token`,
  namespaced: true,
});

const TOKEN_SECONDS = 30 * 24 * 3600;

/** A token of this service account for the API server. Rejects with an ApiError (404) when there is no such account. */
export async function requestToken(
  kubeconfig: string,
  { namespace, name }: { namespace: string; name: string },
): Promise<string> {
  const { object } = await connect(kubeconfig).create(tokensOf(name), {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name, namespace },
    spec: { expirationSeconds: TOKEN_SECONDS },
  });
  if (object.status === undefined) throw new Error(`no token for ${namespace}/${name} in the answer`);
  return object.status.token;
}
