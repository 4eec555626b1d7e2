import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { requestToken } from '../../test/cluster/controlplane/tokens.ts';

interface Cluster {
  readonly server: string;
  readonly 'certificate-authority'?: string;
}

interface Kubeconfig {
  readonly 'current-context'?: string;
  readonly contexts?: readonly { readonly name: string; readonly context: { readonly cluster: string } }[];
  readonly clusters?: readonly { readonly name: string; readonly cluster: Cluster }[];
}

/** Service accounts in the cluster of an administrator's kubeconfig. */
export class Accounts {
  readonly #admin: string;
  readonly #folder: string;
  readonly #cluster: Cluster;

  /** `folder` gets the accounts' kubeconfigs. Throws when the administrator's kubeconfig has no cluster. */
  constructor({ admin, folder }: { readonly admin: string; readonly folder: string }) {
    this.#admin = admin;
    this.#folder = folder;
    this.#cluster = clusterOf(admin);
  }

  get server(): string {
    return this.#cluster.server;
  }

  /** The path of a kubeconfig with a token of this account. Rejects with an ApiError (404) when there is no such account. */
  async kubeconfigFor({ namespace, name }: { namespace: string; name: string }): Promise<string> {
    const token = await requestToken(this.#admin, { namespace, name });
    const file = join(this.#folder, `${namespace}.${name}.kubeconfig`);
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: this.#cluster }],
      users: [{ name, user: { token } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
    };
    // JSON is valid YAML.
    writeFileSync(file, JSON.stringify(kubeconfig), { mode: 0o600 });
    return file;
  }
}

/** The cluster of the current context. File paths become absolute, because they are relative to the kubeconfig. */
function clusterOf(file: string): Cluster {
  const { contexts, clusters, 'current-context': current } = parse(readFileSync(file, 'utf8')) as Kubeconfig;
  const context = contexts?.find(({ name }) => name === current)?.context;
  const cluster = clusters?.find(({ name }) => name === context?.cluster)?.cluster;
  if (cluster === undefined) throw new Error(`${file} has no cluster for its current context`);
  const authority = cluster['certificate-authority'];
  if (authority === undefined) return cluster;
  return { ...cluster, 'certificate-authority': resolve(dirname(file), authority) };
}
