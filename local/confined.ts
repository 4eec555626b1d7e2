import { dirname } from 'node:path';

export interface Confinement {
  /** The bundle that Node runs; its folder may be read. */
  readonly bundle: string;
  /** The only other file that the process may read. */
  readonly kubeconfig: string | undefined;
}

/**
 * Arguments of Node that run a bundle as in the cluster, where nothing of its file system can be written: by Node's own
 * permission model it reads its code and its kubeconfig, writes nothing, and starts no process, worker or addon.
 * (nodejs.org/api/permissions.html; in the cluster the kernel sees to it: readOnlyRootFilesystem, no privileges.)
 */
export const confined = ({ bundle, kubeconfig }: Confinement): string[] => [
  '--permission',
  ...[dirname(bundle), ...(kubeconfig === undefined ? [] : [kubeconfig])].map(
    (path) => `--allow-fs-read=${path}`,
  ),
  bundle,
];
