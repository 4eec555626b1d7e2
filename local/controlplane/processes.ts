import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Binaries } from './binaries/ensure.ts';
import { failWhenOneEnds, startChild, type Child } from './children.ts';
import {
  ADMIN,
  CONTROLLER_MANAGER,
  STARTER,
  TOKEN_ISSUER,
  writeKubeconfig,
  writeServiceAccountKey,
  writeTokenFile,
  type KnownUser,
  type User,
} from './credentials.ts';
import type { TemporaryFolder } from './exit.ts';
import {
  apiServerFlags,
  AUDIT_POLICY,
  controllerManagerFlags,
  etcdFlags,
  filesIn,
  type Files,
} from './flags.ts';
import { freePort } from './ports.ts';
import { apiServerReady, quotaControllerReady } from './ready.ts';
import { requestToken } from './tokens.ts';

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
  /** etcd is gone, as by a crash, and starts again on its data; resolves when the API server is ready again. */
  restartEtcd(): Promise<void>;
  /** Ends the processes and removes the folder. May be called more than once. */
  stop(): Promise<void>;
}

type ServerBinary = 'etcd' | 'kube-apiserver' | 'kube-controller-manager';

export interface Parts {
  readonly binaries: Binaries<ServerBinary>;
  readonly folder: TemporaryFolder;
  readonly users: readonly KnownUser[];
}

/** Far more than it takes (3 s), for a machine that is busy building something else. */
const PATIENCE_MS = 90_000;
const PORT_TRIES = 5;

/** The three processes and what is in their folder. */
export class LocalControlPlane implements ControlPlane {
  adminKubeconfig = '';
  readonly #parts: Parts;
  readonly #files: Files;
  #port = 0;
  #etcd: Child | undefined;
  #apiServer: Child | undefined;
  #controllerManager: Child | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#files = filesIn(parts.folder.path);
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  get folder(): string {
    return this.#parts.folder.path;
  }

  get caFile(): string {
    return this.#files.ca;
  }

  get auditLog(): string {
    return this.#files.audit;
  }

  async start(): Promise<void> {
    writeServiceAccountKey(this.#files.serviceAccountKey);
    writeTokenFile(this.#files.tokens, this.#parts.users);
    writeFileSync(this.#files.auditPolicy, JSON.stringify(AUDIT_POLICY));
    this.#etcd = await this.#spawnEtcd();
    await this.#startApiServerOnAFreePort();
    this.adminKubeconfig = this.#kubeconfigOf(ADMIN);
    const kubeconfig = this.#kubeconfigOf(CONTROLLER_MANAGER);
    this.#controllerManager = await this.#spawn(
      'kube-controller-manager',
      controllerManagerFlags(this.#files, kubeconfig),
    );
    await this.#until('the quota controller', (signal) =>
      quotaControllerReady(this.#kubeconfigOf(STARTER), signal),
    );
  }

  async kubeconfigFor({ namespace, name }: { namespace: string; name: string }): Promise<string> {
    const token = await requestToken(this.#kubeconfigOf(TOKEN_ISSUER), { namespace, name });
    const user = `system:serviceaccount:${namespace}:${name}`;
    return this.#kubeconfig(user, token);
  }

  // Rejects rather than throws, like every other asynchronous function.
  // eslint-disable-next-line @typescript-eslint/require-await
  async kubeconfigForUser(user: User): Promise<string> {
    return this.#kubeconfigOf(user);
  }

  pauseControllerManager(): void {
    this.#controllerManager?.signal('SIGSTOP');
  }

  resumeControllerManager(): void {
    this.#controllerManager?.signal('SIGCONT');
  }

  async stopApiServer(): Promise<void> {
    await this.#apiServer?.stop(0);
  }

  async startApiServer(): Promise<void> {
    this.#apiServer = await this.#spawn('kube-apiserver', apiServerFlags(this.#files, this.#port));
    await this.#apiServerReady();
  }

  async restartEtcd(): Promise<void> {
    await this.#etcd?.stop(0);
    this.#etcd = await this.#spawnEtcd();
    await this.#apiServerReady();
  }

  async stop(): Promise<void> {
    // Nothing of it is needed any more: no reason to ask politely.
    await Promise.all(this.#running().map((child) => child.stop(0)));
    this.#parts.folder.remove();
  }

  /** Between finding a free port and listening on it somebody else may take it: then with another. */
  async #startApiServerOnAFreePort(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      this.#port = await freePort();
      try {
        await this.startApiServer();
        return;
      } catch (error) {
        const taken = error instanceof Error && error.message.includes('address already in use');
        if (!taken || attempt === PORT_TRIES) throw error;
      }
    }
  }

  #apiServerReady(): Promise<void> {
    const { token } = this.#known(STARTER);
    const server = { port: this.#port, caFile: this.#files.ca, token };
    return this.#until('kube-apiserver', (signal) => apiServerReady(server, signal));
  }

  /** Until `ready` resolves; rejects when a process ends before, or when it takes too long. */
  async #until(what: string, ready: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const children = this.#running();
    const gaveUp = new AbortController();
    const deadline = AbortSignal.timeout(PATIENCE_MS);
    try {
      const signal = AbortSignal.any([deadline, gaveUp.signal]);
      await Promise.race([ready(signal), failWhenOneEnds(children)]);
    } catch (cause) {
      if (!deadline.aborted) throw cause;
      const logs = children.map((child) => `${child.name}:\n${child.logTail()}`).join('\n');
      throw new Error(`${what} is not ready after ${PATIENCE_MS / 1000} s.\n${logs}`, { cause });
    } finally {
      gaveUp.abort();
    }
  }

  #running(): Child[] {
    const children = [this.#controllerManager, this.#apiServer, this.#etcd];
    return children.filter((child) => child !== undefined);
  }

  #spawn(name: ServerBinary, args: readonly string[]): Promise<Child> {
    const command = this.#parts.binaries[name];
    return startChild({ name, command, args, logFile: join(this.folder, `${name}.log`) });
  }

  #spawnEtcd(): Promise<Child> {
    return this.#spawn('etcd', etcdFlags(this.#files));
  }

  #known({ name, groups }: User): KnownUser {
    const found = this.#parts.users.find(
      (user) => user.name === name && user.groups.join() === groups.join(),
    );
    if (found !== undefined) return found;
    throw new Error(`no user ${name} of ${groups.join()}: name it in StartOptions.users`);
  }

  #kubeconfigOf(user: User): string {
    return this.#kubeconfig(user.name, this.#known(user).token);
  }

  #kubeconfig(user: string, token: string): string {
    const ca = readFileSync(this.#files.ca);
    return writeKubeconfig({ folder: this.folder, server: this.url, ca, user, token });
  }
}
