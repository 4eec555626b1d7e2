import type { Attack } from './attack.ts';
import { forgeEvents, type Sinks } from './events.ts';
import { writeNamespace } from './namespaces.ts';
import { burstOfPods, createPods, mislabelPods, resizePods } from './pods.ts';
import { markQuotas, recreateQuotas, writeRaisedQuotas } from './quotas.ts';
import { ownVmmrqs, writeVmmrqStatus } from './vmmrqs.ts';
import type { Outcome } from './outcome.ts';

/**
 * What RBAC allows a tenant, and the tenant does. `admin`: namespace-admin rights only. `generous`: it may also write its
 * quotas, its namespace and VMMRQs. `careless`: as generous, and it harms itself as well.
 */
export type Kind = 'admin' | 'generous' | 'careless';

/** Input of the tenants' process, as JSON. */
export interface Plan {
  readonly sinks: Sinks;
  readonly podClients: number;
  /** File to which the process writes its Report on SIGTERM. */
  readonly report: string;
  readonly tenants: readonly {
    readonly namespace: string;
    readonly kind: Kind;
    /** One for each API server: its clients take them in turn. */
    readonly kubeconfigs: readonly string[];
  }[];
}

/** Output of the tenants' process. */
export interface Report {
  readonly seconds: number;
  /** By kind of tenant and shape. */
  readonly counts: Readonly<Record<string, Partial<Record<Outcome, number>>>>;
  /** Attempts that succeeded although they must never. */
  readonly never: readonly string[];
  /** Examples of answers that no outcome covers. */
  readonly others: Readonly<Record<string, string>>;
}

/** Every kind of tenant tries everything: RBAC refuses what its rights do not allow. */
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
