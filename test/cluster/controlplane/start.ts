import { ensureBinaries, type Progress } from './binaries/ensure.ts';
import { ADMIN, CONTROLLER_MANAGER, STARTER, TOKEN_ISSUER, withTokens, type User } from './credentials.ts';
import { temporaryFolder } from './exit.ts';
import { LocalControlPlane, type ControlPlane } from './processes.ts';

export type { User } from './credentials.ts';
export type { ApiServer, ControlPlane } from './processes.ts';

export interface StartOptions {
  /** The users `kubeconfigForUser` knows, besides DEFAULT_USERS. None has a right before the caller binds a role to it. */
  readonly users?: readonly User[];
  /** Number of API servers on the same etcd: 1 or 2. */
  readonly apiServers?: 1 | 2;
  /** Called with the progress of builds. */
  readonly onProgress?: (progress: Progress) => void;
}

/** Users from outside the cluster, as RBAC sees them. */
export const DEFAULT_USERS: readonly User[] = [
  { name: 'tenant', groups: ['tenants'] },
  { name: 'tenant-admin', groups: ['tenant-admins'] },
  { name: 'cluster-admin', groups: ['cluster-admins'] },
];

/**
 * Starts a separate control plane: it shares no ports, data or processes. Resolves when the API server
 * is ready and quotas are enforced. Rejects with the end of the relevant log, and leaves nothing behind.
 */
export async function startControlPlane(options: StartOptions = {}): Promise<ControlPlane> {
  const binaries = await ensureBinaries(
    ['etcd', 'kube-apiserver', 'kube-controller-manager'],
    options.onProgress,
  );
  const ours = [ADMIN, STARTER, TOKEN_ISSUER, CONTROLLER_MANAGER];
  const users = withTokens([...DEFAULT_USERS, ...(options.users ?? []), ...ours]);
  const controlPlane = new LocalControlPlane({
    binaries,
    folder: temporaryFolder('mtq-control-plane-'),
    users,
    apiServers: options.apiServers ?? 1,
  });
  try {
    await controlPlane.start();
    return controlPlane;
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}
