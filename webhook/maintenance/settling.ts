import { readControllerLease } from '../../functions/cluster/controller-lease.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import type { Clock } from '../../functions/runtime/clock.ts';

export interface SettlingOptions {
  readonly cluster: Pick<Cluster, 'get'>;
  readonly clock: Clock;
  readonly kubevirtNamespace: string;
}

interface Quiet {
  readonly deployment: string;
  /** Start of the quiet time, in milliseconds of the process's clock. */
  readonly since: number;
  /** The Lease's renewTime at that moment. */
  readonly renewed: Promise<string | undefined>;
}

/** KubeVirt counts outdated VMs some seconds after an upgrade only (test/recorded/README.md); milliseconds. */
const SETTLED_MS = 60_000;

/**
 * Settling decides whether an upgrade has been quiet for a minute by this process's own clock, while virt-controller, which labels
 * outdated VMs, was alive: its Lease was renewed. It reads the Lease once at the begin and once at the end of each such minute.
 */
export class Settling {
  readonly #options: SettlingOptions;
  #quiet: Quiet | undefined;
  #settled: string | undefined;
  #isReading = false;

  constructor(options: SettlingOptions) {
    this.#options = options;
  }

  /** Whether `deployment` has settled. */
  isSettled(deployment: string): boolean {
    return this.#settled === deployment;
  }

  /**
   * Notes the current state and expects regular calls. `deployment`: the one in place, while no VM is outdated or in flight;
   * undefined: a VM is.
   */
  note(deployment: string | undefined): void {
    if (deployment === undefined || this.#quiet?.deployment !== deployment) {
      this.#settled = undefined;
      this.#quiet = deployment === undefined ? undefined : this.#quietFrom(deployment, this.#renewTime());
      return;
    }
    const isQuiet = this.#options.clock.elapsed() - this.#quiet.since >= SETTLED_MS;
    if (isQuiet && this.#settled === undefined && !this.#isReading) void this.#settle(this.#quiet);
  }

  #quietFrom(deployment: string, renewed: Quiet['renewed']): Quiet {
    return { deployment, since: this.#options.clock.elapsed(), renewed };
  }

  async #settle(quiet: Quiet): Promise<void> {
    this.#isReading = true;
    const [before, after] = await Promise.all([quiet.renewed, this.#renewTime()]);
    this.#isReading = false;
    if (this.#quiet !== quiet) return;
    const wasAlive = before !== undefined && after !== undefined && before !== after;
    if (wasAlive) this.#settled = quiet.deployment;
    // The first renewal after a crash says nothing about the minute before it.
    else this.#quiet = this.#quietFrom(quiet.deployment, Promise.resolve(after));
  }

  /** Reads the renewTime; undefined: there is none, or the read failed. */
  async #renewTime(): Promise<string | undefined> {
    const { cluster, kubevirtNamespace } = this.#options;
    try {
      return (await readControllerLease(cluster, kubevirtNamespace))?.spec?.renewTime;
    } catch {
      return undefined;
    }
  }
}
