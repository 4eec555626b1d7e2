import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Arguments of Node that run a bundle as in the cluster, where nothing of its file system can be written: by Node's own
 * permission model it reads its code and its credentials, writes nothing, and starts no process, worker or addon.
 * `flags`: what Node gets beside that. (nodejs.org/api/permissions.html; in the cluster the kernel sees to it: readOnlyRootFilesystem, no privileges.)
 */
export function confined(bundle: string, env: NodeJS.ProcessEnv, flags: readonly string[] = []): string[] {
  const { KUBECONFIG, SERVICE_ACCOUNT_FOLDER, NODE_OPTIONS = '' } = env;
  const reads = [
    dirname(bundle),
    ...[KUBECONFIG, SERVICE_ACCOUNT_FOLDER].filter((path) => path !== undefined),
    ...preloaded(NODE_OPTIONS),
  ];
  return ['--permission', ...reads.map((path) => `--allow-fs-read=${path}`), ...flags, bundle];
}

/** What a test loads into a process before its own code (a wrong clock) is code too. */
const preloaded = (options: string): string[] =>
  [...options.matchAll(/--import=(file:\S+)/g)].map(([, url = '']) => fileURLToPath(url));
