import { ensureBinaries, type Progress } from './binaries/ensure.ts';
import { ADMIN, CONTROLLER_MANAGER, STARTER, TOKEN_ISSUER, withTokens, type User } from './credentials.ts';
import { temporaryFolder } from './exit.ts';
import { LocalControlPlane } from './processes.ts';

export type { User } from './credentials.ts';

export interface StartOptions {
  /** The users `kubeconfigForUser` knows, besides DEFAULT_USERS. None has a right before the caller binds a role to it. */
  readonly users?: readonly User[];
  /** Hears of binaries that have to be built first. */
  readonly onProgress?: (progress: Progress) => void;
}

/** A running etcd, kube-apiserver and kube-controller-manager. */
export interface ControlPlane {
  /** https://127.0.0.1:port */
  readonly url: string;
  /** Temporary: credentials, data, logs (<process>.log). Callers may put files of their own there. */
  readonly folder: string;
  readonly caFile: string;
  /** One audit.k8s.io/v1 Event a line, level Metadata: one line for each request, two for a watch (its start, its end). */
  readonly auditLog: string;
  /** Path; user `admin`, group system:masters. Nobody but the caller uses it. */
  readonly adminKubeconfig: string;
  /** Path of a kubeconfig with a token of this service account, which must exist (rejects with an ApiError else). */
  kubeconfigFor(account: { namespace: string; name: string }): Promise<string>;
  /** Path of a kubeconfig of one of StartOptions.users or DEFAULT_USERS; rejects for any other. */
  kubeconfigForUser(user: User): Promise<string>;
  /** SIGSTOP: no status.hard, no garbage collection, until it is resumed. */
  pauseControllerManager(): void;
  resumeControllerManager(): void;
  /** The API server is gone, as by a crash (requests under way break off), until startApiServer. */
  stopApiServer(): Promise<void>;
  /** The same port and data again; resolves when it is ready. */
  startApiServer(): Promise<void>;
  /** Ends the processes and removes the folder. May be called more than once. */
  stop(): Promise<void>;
}

/** Users from outside the cluster, as RBAC sees them. */
export const DEFAULT_USERS: readonly User[] = [
  { name: 'tenant', groups: ['tenants'] },
  { name: 'tenant-admin', groups: ['tenant-admins'] },
  { name: 'cluster-admin', groups: ['cluster-admins'] },
];

/**
 * Starts a control plane of its own: its ports, data and processes are shared with no other. Resolves when the API server
 * is ready and quotas are really enforced. Rejects, with the end of the log that tells why, and leaves nothing.
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
  });
  try {
    await controlPlane.start();
    return controlPlane;
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}
