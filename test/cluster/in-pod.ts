import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** As written by test/cluster/controlplane/credentials.ts. */
interface Kubeconfig {
  readonly clusters: readonly { cluster: { server: string; 'certificate-authority-data': string } }[];
  readonly users: readonly { user: { token: string } }[];
}

/**
 * The environment by which a container in a pod finds the API server. It writes the content of a local kubeconfig
 * into files beside it, as the kubelet mounts them.
 */
export function podEnvironment(kubeconfig: string): Record<string, string> {
  const folder = `${kubeconfig}.pod`;
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
  const [{ cluster }, { user }] = [clusters[0], users[0]] as [
    Kubeconfig['clusters'][0],
    Kubeconfig['users'][0],
  ];
  const { hostname, port } = new URL(cluster.server);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'ca.crt'), Buffer.from(cluster['certificate-authority-data'], 'base64'));
  writeFileSync(join(folder, 'token'), user.token, { mode: 0o600 });
  return {
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    SERVICE_ACCOUNT_FOLDER: folder,
  };
}
