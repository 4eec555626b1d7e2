import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Arguments of Node that run a bundle as in the cluster, where nothing of its file system can be written: by Node's own
 * permission model it reads its code and its kubeconfig, writes nothing, and starts no process, worker or addon.
 * (nodejs.org/api/permissions.html; in the cluster the kernel sees to it: readOnlyRootFilesystem, no privileges.)
 */
export function confined(bundle: string, env: NodeJS.ProcessEnv): string[] {
  const { KUBECONFIG, NODE_COMPILE_CACHE, NODE_OPTIONS = '' } = env;
  // Node reads no compile cache that it may not write; an image's own is read only, and read.
  const cache = NODE_COMPILE_CACHE === undefined ? [] : [NODE_COMPILE_CACHE];
  const reads = [
    dirname(bundle),
    ...(KUBECONFIG === undefined ? [] : [KUBECONFIG]),
    ...preloaded(NODE_OPTIONS),
    ...cache,
  ];
  return [
    '--permission',
    ...reads.map((path) => `--allow-fs-read=${path}`),
    ...cache.map((path) => `--allow-fs-write=${path}`),
    bundle,
  ];
}

/** What a test loads into a process before its own code (a wrong clock) is code too. */
const preloaded = (options: string): string[] =>
  [...options.matchAll(/--import=(file:\S+)/g)].map(([, url = '']) => fileURLToPath(url));
