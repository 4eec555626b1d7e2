import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { Cluster, User } from '@kubernetes/client-node/dist/config_types.js';
import { connectBy } from '../../functions/kubernetes/client.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import { PluginError } from './plugin-error.ts';

/** User agent, and field manager of every write of the plugin. */
const AGENT = 'kubectl-vmmrq';
/** A busy API server may take long for the lists of a large cluster, and a person can stop the wait. */
const SILENCE_MS = 60_000;

/** kubectl's own flags, as it reads them. */
export interface ConnectionFlags {
  /** The file; by default the files of KUBECONFIG, else ~/.kube/config, else the cluster around the pod. */
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  /** Names of a cluster and a user of the kubeconfig, in place of those of the context. */
  readonly cluster?: string;
  readonly user?: string;
  /** URL of the API server. */
  readonly server?: string;
  readonly token?: string;
  /** The user and groups to impersonate. */
  readonly as?: string;
  readonly asGroup?: readonly string[];
  readonly insecureSkipTlsVerify?: boolean;
  /** How long the API server may be silent: "30", "30s", "2m"; "0" for ever. */
  readonly requestTimeout?: string;
}

export interface Session {
  readonly cluster: ApiServer;
  /** The same API server as another user, whom the user must have the right to impersonate. Left out: nobody else. */
  readonly as?: (user: string) => ApiServer;
  /** The namespace of the flag, else of the context, else `default`. */
  readonly namespace: string;
}

type KubeconfigFlag = Pick<ConnectionFlags, 'kubeconfig'>;

/** The names of a kubeconfig's contexts, clusters and users. */
export const contextsOf = (flags: KubeconfigFlag): string[] => namesOf(load(flags).getContexts());
export const clustersOf = (flags: KubeconfigFlag): string[] => namesOf(load(flags).getClusters());
export const usersOf = (flags: KubeconfigFlag): string[] => namesOf(load(flags).getUsers());

const namesOf = (all: readonly { readonly name: string }[]): string[] => all.map(({ name }) => name);

function load({ kubeconfig }: Pick<ConnectionFlags, 'kubeconfig'>): KubeConfig {
  const config = new KubeConfig();
  if (kubeconfig === undefined) config.loadFromDefault();
  else config.loadFromFile(kubeconfig);
  return config.getCurrentContext() === WITHOUT_KUBECONFIG ? new KubeConfig() : config;
}

/** The context that @kubernetes/client-node makes for http://localhost:8080 where it finds no kubeconfig. */
const WITHOUT_KUBECONFIG = 'loaded-context';

/**
 * Connects to the API server by kubectl's flags; `silenceMs`: how long it may be silent without the flag. Throws where the kubeconfig
 * names none. Sends nothing yet.
 */
export function connect(flags: ConnectionFlags, silenceMs: number = SILENCE_MS): Session {
  const { config, namespace } = chosen(flags);
  // Another user has its own groups.
  const { asGroup, ...own } = flags;
  const options = {
    silenceMs: flags.requestTimeout === undefined ? silenceMs : millisecondsOf(flags.requestTimeout),
    headers: asGroup === undefined ? {} : { 'Impersonate-Group': [...asGroup] },
  };
  return {
    cluster: connectBy(config, AGENT, options),
    as: (user) => connect({ ...own, as: user }, silenceMs).cluster,
    namespace: flags.namespace ?? namespace ?? 'default',
  };
}

interface Chosen {
  /** A kubeconfig with one context; with none where no API server is named. */
  readonly config: KubeConfig;
  readonly namespace: string | undefined;
}

/** Chooses the context, cluster and user of the kubeconfig by the flags, and changes them as these say. */
function chosen(flags: ConnectionFlags): Chosen {
  const all = load(flags);
  const current = all.getCurrentContext();
  const context = found('context', flags.context, current, (name) => all.getContextObject(name));
  const cluster = clusterBy(
    found('cluster', flags.cluster, context?.cluster, (name) => all.getCluster(name)),
    flags,
  );
  const user = userBy(
    found('user', flags.user, context?.user, (name) => all.getUser(name)),
    flags,
  );
  const config = new KubeConfig();
  const name = context?.name ?? 'flags';
  if (cluster === undefined && all.getContexts().length === 0)
    throw new Error('there is none at the path in --kubeconfig or KUBECONFIG, nor at ~/.kube/config');
  if (cluster !== undefined)
    config.loadFromOptions({
      clusters: [{ ...cluster, name }],
      users: [{ ...user, name }],
      contexts: [{ name, cluster: name, user: name }],
      currentContext: name,
    });
  return { config, namespace: context?.namespace };
}

/** What the kubeconfig has by the name of the flag, else by the usual name. Throws where it has nothing by the flag's. */
function found<T>(
  what: string,
  flag: string | undefined,
  usual: string | undefined,
  by: (name: string) => T | null,
): T | undefined {
  const there = by(flag ?? usual ?? '') ?? undefined;
  if (flag !== undefined && there === undefined) throw new Error(`it has no ${what} ${flag}`);
  return there;
}

const UNTRUSTED = { skipTLSVerify: true, caData: undefined, caFile: undefined };

/** undefined: no API server is named. */
function clusterBy(
  cluster: Cluster | undefined,
  { server, insecureSkipTlsVerify }: ConnectionFlags,
): object | undefined {
  const url = server ?? cluster?.server;
  if (url === undefined) return undefined;
  // `kubectl proxy` speaks plain HTTP, which @kubernetes/client-node accepts only like this.
  const isUnverified = insecureSkipTlsVerify === true || url.startsWith('http:');
  return { skipTLSVerify: false, ...cluster, server: url, ...(isUnverified ? UNTRUSTED : {}) };
}

const userBy = (user: User | undefined, { token, as }: ConnectionFlags): object => ({
  ...user,
  ...(token === undefined ? {} : { token }),
  ...(as === undefined ? {} : { impersonateUser: as }),
});

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const PART = String.raw`(\d{1,6}(?:\.\d{1,3})?)(ms|[smh])`;
/** The longest time that a timer can wait. */
const FOR_EVER_MS = 2 ** 31 - 1;

/** Milliseconds of kubectl's --request-timeout: a duration of Go, or seconds. Throws a PluginError. */
function millisecondsOf(text: string): number {
  const duration = /^\d{1,6}$/.test(text) ? `${text}s` : text;
  if (!new RegExp(`^(?:${PART})+$`).test(duration))
    throw new PluginError(
      `--request-timeout ${text}: must be a time with ms, s, m or h, such as 30s or 1m30s`,
    );
  const parts = [...duration.matchAll(new RegExp(PART, 'g'))];
  const ms = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNIT_MS[unit] ?? 0), 0);
  return ms === 0 ? FOR_EVER_MS : Math.min(ms, FOR_EVER_MS);
}
