import type { Attack } from './attack.ts';
import { forgeEvents, type Sinks } from './events.ts';
import { writeNamespace } from './namespaces.ts';
import { burstOfPods, createPods, mislabelPods, resizePods } from './pods.ts';
import { markQuotas, recreateQuotas, writeRaisedQuotas } from './quotas.ts';
import { ownVmmrqs, writeVmmrqStatus } from './vmmrqs.ts';
import type { Outcome } from './outcome.ts';

/**
 * What a tenant may do by RBAC, and does: `admin`: namespace-admin rights and no more; `generous`: its cluster lets it
 * write its quotas, its namespace and VMMRQs too; `careless`: as generous, and it harms itself as well.
 */
export type Kind = 'admin' | 'generous' | 'careless';

/** What the tenants' process is told, as JSON. */
export interface Plan {
  readonly sinks: Sinks;
  readonly podClients: number;
  /** Where it writes its Report when it is told to end (SIGTERM). */
  readonly report: string;
  readonly tenants: readonly {
    readonly namespace: string;
    readonly kind: Kind;
    /** One for each API server: its clients take them in turn. */
    readonly kubeconfigs: readonly string[];
  }[];
}

/** What the tenants' process tells. */
export interface Report {
  readonly seconds: number;
  /** By kind of tenant and shape. */
  readonly counts: Readonly<Record<string, Partial<Record<Outcome, number>>>>;
  /** Attempts that were done and must never be. */
  readonly never: readonly string[];
  /** Examples of answers that the table has no word for. */
  readonly others: Readonly<Record<string, string>>;
}

/** All try all: what their rights do not allow is refused by RBAC. */
export function attacksOf(kind: Kind, { sinks, podClients }: Plan): readonly Attack[] {
  const commonAttacks = [
    createPods(kind === 'careless' ? 1 : podClients),
    burstOfPods,
    resizePods,
    writeNamespace,
    writeVmmrqStatus,
    forgeEvents(sinks),
  ];
  // A careless tenant marks its own quotas as raised: then it may do with them what it likes.
  if (kind !== 'careless') return [...commonAttacks, writeRaisedQuotas];
  return [...commonAttacks, mislabelPods, markQuotas, recreateQuotas, ownVmmrqs];
}
