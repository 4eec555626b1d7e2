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
  REACHABLE,
  secondApiServerFlags,
  type Files,
} from './flags.ts';
import { startLag, type Lag } from './lag.ts';
import { freePort } from './ports.ts';
import { apiServerReady, quotaControllerReady } from './ready.ts';
import { requestToken } from './tokens.ts';

/** One of several API servers on the same etcd, with the same users, keys and certificates. */
export interface ApiServer {
  /** https://127.0.0.1:port */
  readonly url: string;
  /** Its own file: each API server logs its own requests. */
  readonly auditLog: string;
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
  /** All API servers; the one above is first, and the controllers use only that one. */
  readonly apiServers: readonly ApiServer[];
  /** Path; user `admin`, group system:masters. Only the caller uses it. */
  readonly adminKubeconfig: string;
  /** Path of a kubeconfig with a token of this service account, which must exist (rejects with an ApiError else). */
  kubeconfigFor(account: { namespace: string; name: string }): Promise<string>;
  /** Path of a kubeconfig of one of StartOptions.users or DEFAULT_USERS; rejects for any other. */
  kubeconfigForUser(user: User): Promise<string>;
  /** Suspends kube-controller-manager; resolves when it is suspended. It then writes no status.hard and collects no garbage. */
  pauseControllerManager(): Promise<void>;
  resumeControllerManager(): void;
  /** Delays namespaces, and only them, at the second API server from now on, so that its caches lag differently. */
  lagNamespaces(milliseconds: number): void;
  /** Path of a kubeconfig for the same user at another of the API servers. */
  kubeconfigAt(server: ApiServer, kubeconfig: string): string;
  /** Its API server or etcd was away once. The controllers then ask again after up to twice that time, each kind of object for itself. */
  readonly wasAway: boolean;
  /** Stops the API server like a crash (requests under way fail), until startApiServer. */
  stopApiServer(): Promise<void>;
  /** The same port and data again; resolves when it is ready. */
  startApiServer(): Promise<void>;
  /** Kills etcd like a crash, and restarts it on its data; resolves when the API server is ready again. */
  restartEtcd(): Promise<void>;
  /** This process may end while they run, and then ends them. */
  unref(): void;
  /** Ends the processes and removes the folder. May be called more than once. */
  stop(): Promise<void>;
}

type ServerBinary = 'etcd' | 'kube-apiserver' | 'kube-controller-manager';

export interface Parts {
  readonly binaries: Binaries<ServerBinary>;
  readonly folder: TemporaryFolder;
  readonly users: readonly KnownUser[];
  /** 1 or 2. */
  readonly apiServers: number;
}

/** Far longer than a start takes (3 s), for a machine that is busy with a build. */
const TIMEOUT_MS = 90_000;
const PORT_TRIES = 5;

/** The three processes and their files. */
export class LocalControlPlane implements ControlPlane {
  adminKubeconfig = '';
  wasAway = false;
  readonly #parts: Parts;
  readonly #files: Files;
  #port = 0;
  #etcd: Child | undefined;
  #apiServer: Child | undefined;
  #second: (ApiServer & { readonly child: Child; readonly lag: Lag }) | undefined;
  #controllerManager: Child | undefined;
  /** This process waits for the children's end before its own. */
  #mayOutlast = true;

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

  get apiServers(): readonly ApiServer[] {
    return this.#second === undefined ? [this] : [this, this.#second];
  }

  async start(): Promise<void> {
    writeServiceAccountKey(this.#files.serviceAccountKey);
    writeTokenFile(this.#files.tokens, this.#parts.users);
    writeFileSync(this.#files.auditPolicy, JSON.stringify(AUDIT_POLICY));
    this.#etcd = await this.#spawnEtcd();
    this.#port = await onAFreePort((port) => this.#startApiServerOn(port));
    if (this.#parts.apiServers > 1) await onAFreePort((port) => this.#startSecondOn(port));
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

  async pauseControllerManager(): Promise<void> {
    await this.#controllerManager?.pause();
  }

  resumeControllerManager(): void {
    this.#controllerManager?.signal('SIGCONT');
  }

  lagNamespaces(milliseconds: number): void {
    this.#second?.lag.set(milliseconds);
  }

  kubeconfigAt({ url }: ApiServer, kubeconfig: string): string {
    if (url === this.url) return kubeconfig;
    const moved = `${kubeconfig}.${new URL(url).port}`;
    writeFileSync(moved, readFileSync(kubeconfig, 'utf8').replaceAll(this.url, url), { mode: 0o600 });
    return moved;
  }

  async stopApiServer(): Promise<void> {
    this.wasAway = true;
    await this.#apiServer?.stop(0);
  }

  async startApiServer(): Promise<void> {
    await this.#startApiServerOn(this.#port);
  }

  async restartEtcd(): Promise<void> {
    this.wasAway = true;
    await this.#etcd?.stop(0);
    this.#etcd = await this.#spawnEtcd();
    await this.#apiServerReady(this.#port);
  }

  unref(): void {
    this.#mayOutlast = false;
    for (const child of this.#running()) child.unref();
  }

  async stop(): Promise<void> {
    // Its data is no longer needed, so SIGKILL is enough.
    await Promise.all(this.#running().map((child) => child.stop(0)));
    await this.#second?.lag.stop();
    this.#parts.folder.remove();
  }

  async #startApiServerOn(port: number): Promise<void> {
    const flags = [...apiServerFlags(this.#files, port), ...(this.#parts.apiServers > 1 ? REACHABLE : [])];
    this.#apiServer = await this.#spawn('kube-apiserver', flags);
    await this.#apiServerReady(port);
  }

  /** Starts after the first one, which creates the certificates. */
  async #startSecondOn(port: number): Promise<void> {
    const lag = await startLag(this.#files.etcdSocket);
    const flags = secondApiServerFlags(this.#files, port, lag.url);
    const child = await this.#spawn('kube-apiserver', flags, 'kube-apiserver-2');
    this.#second = { url: `https://127.0.0.1:${port}`, auditLog: this.#files.secondAudit, child, lag };
    await this.#apiServerReady(port);
  }

  #apiServerReady(port: number): Promise<void> {
    const { token } = this.#known(STARTER);
    const server = { port, caFile: this.#files.ca, token };
    return this.#until('kube-apiserver', (signal) => apiServerReady(server, signal));
  }

  /** Waits until `ready` resolves; rejects when a process ends before, or after a timeout. */
  async #until(what: string, ready: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const children = this.#running();
    const gaveUp = new AbortController();
    const deadline = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const signal = AbortSignal.any([deadline, gaveUp.signal]);
      await Promise.race([ready(signal), failWhenOneEnds(children)]);
    } catch (cause) {
      if (!deadline.aborted) throw cause;
      const logs = children.map((child) => `${child.name}:\n${child.logTail()}`).join('\n');
      throw new Error(`${what} is not ready after ${TIMEOUT_MS / 1000} s.\n${logs}`, { cause });
    } finally {
      gaveUp.abort();
    }
  }

  #running(): Child[] {
    const children = [this.#controllerManager, this.#second?.child, this.#apiServer, this.#etcd];
    return children.filter((child) => child !== undefined);
  }

  async #spawn(binary: ServerBinary, args: readonly string[], name: string = binary): Promise<Child> {
    const command = this.#parts.binaries[binary];
    // Memory for CPU: a test's servers live for minutes (12 % less CPU).
    const env = { GOGC: '400', ...process.env };
    const logFile = join(this.folder, `${name}.log`);
    const child = await startChild({ name, command, args, logFile, env });
    if (!this.#mayOutlast) child.unref();
    return child;
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

/** Another process may take a free port before the child listens on it; then this retries with another one. Resolves with the port. */
async function onAFreePort(start: (port: number) => Promise<void>): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      await start(port);
      return port;
    } catch (error) {
      const inUse = error instanceof Error && error.message.includes('address already in use');
      if (!inUse || attempt === PORT_TRIES) throw error;
    }
  }
}
