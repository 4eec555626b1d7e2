import { join } from 'node:path';
import { launchFunction, type FunctionProcess, type Launch } from './function.ts';

export interface RevisionOptions {
  readonly name: string;
  readonly bundle: string;
  /** Asked at every start: addresses may have come since. */
  readonly environment: () => Promise<NodeJS.ProcessEnv>;
  readonly readinessPath: string;
  readonly startMs: number;
  /** 0: no limit. */
  readonly concurrency: number;
  /** Infinity: never stopped for being idle. */
  readonly idleMs: number;
  readonly graceMs: number;
  readonly logFolder: string;
  readonly onLine: (line: string) => void;
  readonly onChange: (change: Change) => void;
}

/** A process came or went. */
export type Change =
  | { readonly kind: 'started'; readonly pid: number; readonly ms: number }
  | { readonly kind: 'stopped'; readonly pid: number; readonly why: Reason; readonly how: string };

/** `ended`: by itself, or killed from outside. */
export type Reason = 'idle' | 'stopped' | 'ended';

export interface Slot {
  readonly process: FunctionProcess;
  /** True when the request had to wait for the process to start. */
  readonly cold: boolean;
  resume(): void;
}

/** One Knative Service: no process, or one, and the requests in it. */
export class Revision {
  readonly #options: RevisionOptions;
  #starting: Promise<FunctionProcess> | undefined;
  #running: FunctionProcess | undefined;
  #stopping: Promise<void> | undefined;
  #why: Reason = 'ended';
  #requests = 0;
  #busy = 0;
  readonly #queue: (() => void)[] = [];
  #idle: NodeJS.Timeout | undefined;
  #starts = 0;
  #closed = false;

  constructor(options: RevisionOptions) {
    this.#options = options;
  }

  /** The live process's id. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  /** A place in a process that is ready, which is started when there is none. Rejects with NotReady. */
  async enter(): Promise<Slot> {
    clearTimeout(this.#idle);
    this.#requests += 1;
    try {
      const cold = this.#running === undefined || this.#stopping !== undefined;
      const process = await this.#ready();
      await this.#acquireSlot();
      return { process, cold, resume: () => this.#leave() };
    } catch (error) {
      this.#requests -= 1;
      throw error;
    }
  }

  /** Starts the process without a request. */
  async start(): Promise<void> {
    (await this.enter()).resume();
  }

  /** For good. */
  async stop(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    await this.#starting?.catch(() => undefined);
    await this.#end('stopped');
  }

  signal(signal: NodeJS.Signals): void {
    this.#running?.child.signal(signal);
  }

  async #ready(): Promise<FunctionProcess> {
    while (this.#stopping !== undefined) await this.#stopping;
    if (this.#closed) throw new Error(`${this.#options.name} is stopped`);
    if (this.#running !== undefined) return this.#running;
    this.#starting ??= this.#launch().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #launch(): Promise<FunctionProcess> {
    const { name, bundle, readinessPath, startMs, logFolder, onLine, onChange } = this.#options;
    const began = performance.now();
    this.#starts += 1;
    const launch: Launch = {
      name,
      bundle,
      readinessPath,
      startMs,
      onLine,
      env: await this.#options.environment(),
      logFile: join(logFolder, `${name}-${this.#starts}.log`),
    };
    const launched = await launchFunction(launch);
    const { pid } = launched.child;
    this.#running = launched;
    this.#why = 'ended';
    onChange({ kind: 'started', pid, ms: performance.now() - began });
    void launched.child.ended.then((how) => {
      if (this.#running === launched) this.#running = undefined;
      onChange({ kind: 'stopped', pid, why: this.#why, how });
    });
    return launched;
  }

  /** One at a time with containerConcurrency 1, and so on. */
  async #acquireSlot(): Promise<void> {
    const { concurrency } = this.#options;
    if (concurrency > 0 && this.#busy >= concurrency) {
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    } else {
      this.#busy += 1;
    }
  }

  #leave(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#busy -= 1;
    else next();
    this.#requests -= 1;
    const { idleMs } = this.#options;
    if (this.#requests === 0 && !this.#closed && Number.isFinite(idleMs)) {
      this.#idle = setTimeout(() => void this.#end('idle'), idleMs);
    }
  }

  async #end(why: Reason): Promise<void> {
    const { child } = this.#running ?? {};
    if (child === undefined || this.#stopping !== undefined) return this.#stopping;
    this.#why = why;
    this.#stopping = child.stop(this.#options.graceMs).then(() => {
      this.#stopping = undefined;
      this.#running = undefined;
    });
    return this.#stopping;
  }
}
