import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Arguments of Node that confine a bundle as in the cluster, where its file system is read-only. By Node's own
 * permission model the bundle reads only its code and credentials, writes nothing, and starts no process, worker or addon.
 * `flags`: further flags of Node. (nodejs.org/api/permissions.html; in the cluster the kernel enforces it: readOnlyRootFilesystem, no privileges.)
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

/** Code that a test preloads into a process (a wrong clock) must be readable too. */
const preloaded = (options: string): string[] =>
  [...options.matchAll(/--import=(file:\S+)/g)].map(([, url = '']) => fileURLToPath(url));
