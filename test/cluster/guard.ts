import { join } from 'node:path';
import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { confined } from './confined.ts';
import type { Child } from './controlplane/children.ts';
import { podEnvironment } from './in-pod.ts';
import { startServing, type ServingOptions } from './serving.ts';

interface Deployment extends KubernetesObject {
  spec: {
    template: {
      spec: {
        serviceAccountName: string;
        containers: { command?: string[]; env?: { name: string; value?: string }[] }[];
      };
    };
  };
}

export interface GuardOptions extends Pick<ServingOptions, 'onStart' | 'until'> {
  /** The rendered Deployment: the process gets its environment, service account and Node flags. */
  readonly deployment: KubernetesObject;
  /** Name of the process and its log; default `guard`. */
  readonly name?: string;
  readonly bundle: string;
  /** Where its log goes. */
  readonly folder: string;
  readonly kubeconfig: string;
  readonly port: number;
  readonly tlsPort: number;
  /** Cluster DNS for the URLs in its environment. */
  readonly rewrite: (text: string) => string;
  readonly env: Readonly<Record<string, string>>;
  /** The guard finds the API server as in a pod, not by KUBECONFIG. */
  readonly inPod?: boolean;
}

/** Of the rendered manifests. */
export function deploymentIn(objects: readonly KubernetesObject[], name: string): KubernetesObject {
  const found = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name);
  if (found === undefined) throw new Error(`the manifests have no Deployment ${name}`);
  return found;
}

export const guardDeployment = (objects: readonly KubernetesObject[]): KubernetesObject =>
  deploymentIn(objects, SERVICE_ACCOUNT.guard);

/** What a Deployment gives its process: the environment, with URLs of this machine, and Node's flags. */
export function declaredBy(
  deployment: KubernetesObject,
  rewrite: (text: string) => string,
): { readonly env: Readonly<Record<string, string>>; readonly flags: readonly string[] } {
  const [{ env = [], command = [] } = {}] = (deployment as Deployment).spec.template.spec.containers;
  return {
    env: Object.fromEntries(env.map(({ name, value = '' }) => [name, rewrite(value)])),
    flags: command.filter((arg) => arg.startsWith('--') && !PERMISSIONS.test(arg)),
  };
}

/** Its readable files have other paths on this machine. */
const PERMISSIONS = /^--(permission$|allow-)/;

/** The local address of its Service: host and port in the cluster to base URL. */
export const guardAddress = (port: number): Record<string, string> => ({
  [`${SERVICE_ACCOUNT.guard}.${SYSTEM_NAMESPACE}.svc.cluster.local:8080`]: `http://127.0.0.1:${String(port)}`,
});

/** The service account that the Deployment runs as. */
export const guardAccount = (deployment: KubernetesObject): string =>
  (deployment as Deployment).spec.template.spec.serviceAccountName;

/** The guard as a process of the real bundle; resolves when it is ready, rejects with the end of its log. */
export async function startGuard(options: GuardOptions): Promise<Child> {
  const { name = 'guard', deployment, rewrite, folder, bundle, kubeconfig, port, tlsPort } = options;
  const { onStart, until } = options;
  const { env: declared, flags } = declaredBy(deployment, rewrite);
  const env = {
    PATH: process.env['PATH'],
    ...declared,
    ...(options.inPod === true ? podEnvironment(kubeconfig) : { KUBECONFIG: kubeconfig }),
    PORT: String(port),
    TLS_PORT: String(tlsPort),
    // It can end without a drain time, because there are no endpoints here.
    SHUTDOWN_DELAY_MS: '0',
    ...options.env,
  };
  const logFile = join(folder, `${name}.log`);
  return startServing({ name, args: confined(bundle, env, flags), env, logFile, port, onStart, until });
}
