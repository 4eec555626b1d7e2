import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import type { LocalCluster } from '../cluster.ts';
import type { Happening } from './happenings/happening.ts';
import { happeningsOf } from './happenings/of-change.ts';
import type { AuditLog } from './audit.ts';
import type { Traces } from './traces.ts';
import type { Watching } from './watching.ts';

type Parts = Pick<Stage, 'cluster' | 'watching' | 'traces' | 'audit'>;

/** Where scenarios are played: the cluster, and what is seen of it. */
export class Stage {
  readonly cluster: LocalCluster;
  readonly watching: Watching;
  readonly traces: Traces;
  readonly audit: AuditLog;
  /** Of changes in the namespaces of tenants, since the start. */
  readonly happenings: Happening[] = [];
  #seen = 0;

  constructor(parts: Parts) {
    this.cluster = parts.cluster;
    this.watching = parts.watching;
    this.traces = parts.traces;
    this.audit = parts.audit;
    this.watching.listen(() => this.#look());
  }

  get admin(): Cluster {
    return this.cluster.admin;
  }

  /** Everything in these namespaces from `since` on (milliseconds since 1970). */
  happeningsIn(namespaces: readonly string[], since: number): Happening[] {
    return this.happenings.filter(({ namespace, at }) => at >= since && namespaces.includes(namespace));
  }

  /** Resolves to true when no event is on its way and no function has a process; to false when `signal` aborts before. */
  async untilAtRest(signal: AbortSignal): Promise<boolean> {
    const { broker, activator } = this.cluster.eventing;
    while (!signal.aborted) {
      await broker.idle();
      if (activator.running().length === 0) return true;
      await this.#nextActivity(signal);
    }
    return false;
  }

  async stop(): Promise<void> {
    await this.watching.stop();
  }

  #nextActivity(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        forget();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const forget = this.traces.listen(end);
      signal.addEventListener('abort', end);
    });
  }

  #look(): void {
    const { changes } = this.watching;
    while (this.#seen < changes.length) {
      const change = changes[this.#seen++];
      if (change !== undefined) this.happenings.push(...happeningsOf(change));
    }
  }
}
