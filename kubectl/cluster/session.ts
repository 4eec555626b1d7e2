import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { connectBy } from '../../functions/kubernetes/client.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';

/** User agent, and field manager of every write of the plugin. */
const AGENT = 'kubectl-vmmrq';
/** A busy API server may take long for the lists of a large cluster, and a person can stop the wait. */
const SILENCE_MS = 60_000;

/** kubectl's own flags. */
export interface ConnectionFlags {
  /** The file; by default the files of KUBECONFIG, else ~/.kube/config, else the cluster around the pod. */
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
}

export interface Session {
  readonly cluster: ApiServer;
  /** The same API server as another user, whom the user must have the right to impersonate. Left out: nobody else. */
  readonly as?: (user: string) => ApiServer;
  /** The namespace of the flag, else of the context, else `default`. */
  readonly namespace: string;
}

/** The names of a kubeconfig's contexts. */
export const contextsOf = (flags: Pick<ConnectionFlags, 'kubeconfig'>): string[] =>
  load(flags)
    .getContexts()
    .map(({ name }) => name);

function load({ kubeconfig }: Pick<ConnectionFlags, 'kubeconfig'>): KubeConfig {
  const config = new KubeConfig();
  if (kubeconfig === undefined) config.loadFromDefault();
  else config.loadFromFile(kubeconfig);
  return config;
}

/**
 * Connects to the API server by kubectl's flags; the API server may be silent for so many milliseconds. Throws where the kubeconfig
 * names none. Sends nothing yet.
 */
export function connect(
  { context, namespace, ...flags }: ConnectionFlags,
  silenceMs: number = SILENCE_MS,
): Session {
  const loaded = (): KubeConfig => {
    const config = load(flags);
    if (context !== undefined) config.setCurrentContext(context);
    return config;
  };
  const config = loaded();
  const { namespace: ofContext = 'default' } = config.getContextObject(config.getCurrentContext()) ?? {};
  return {
    cluster: connectBy(config, AGENT, { silenceMs }),
    as: (user) => connectBy(impersonating(loaded(), user), AGENT, { silenceMs }),
    namespace: namespace ?? ofContext,
  };
}

/** The same credentials, with which the API server acts as this user. */
function impersonating(config: KubeConfig, impersonateUser: string): KubeConfig {
  const current = config.getCurrentUser();
  config.users = config.users.map((user) => (user === current ? { ...user, impersonateUser } : user));
  return config;
}
