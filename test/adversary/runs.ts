import type { SlowWebhook } from './slow-webhook.ts';

/** In which world the tenants attack. */
export interface Run {
  readonly name: string;
  /** Namespaces of each kind, each with one VM. */
  readonly tenants: { readonly admin: number; readonly generous: number; readonly careless: number };
  /** Clients of each tenant that create pods. */
  readonly podClients: number;
  readonly settleMs: number;
  /** Another webhook that takes its time over pods. */
  readonly slow?: SlowWebhook;
  /** kube-controller-manager stands still for so long each time a target pod appears, milliseconds. */
  readonly pauseMs?: number;
  /** Two API servers, and tenants, functions and guard use both. The second one hears of namespaces so much later, milliseconds. */
  readonly lagMs?: number;
  /** Each API server publishes an address of its own. */
  readonly arePublished?: boolean;
  /** Functions and guard use the first API server alone: nothing of theirs waits for what the second one has not heard of. */
  readonly isOnlyTenantsSpread?: boolean;
  /**
   * So many launchers' room is given; left out: 1 to admins, 3 to the others. With 1 whoever gets in takes the target's
   * room; with more all of it is raised (policy Fixed): room to steal for as long as status.hard stays raised, and
   * strangers do not take it all.
   */
  readonly gives?: number;
}

const USUAL = {
  tenants: { admin: 1, generous: 1, careless: 1 },
  podClients: 2,
  settleMs: 0,
} as const;

export const BASE: Run = { name: 'one API server', ...USUAL };

const SLOW = { ...USUAL, podClients: 6, gives: 3 };
const TWO_SERVERS = { ...USUAL, podClients: 3 };

export const SLOW_VALIDATING: Run = {
  name: 'a validating webhook takes 500 ms',
  ...SLOW,
  slow: { kind: 'validating', ms: 500 },
};

export const SLOW_MUTATING: Run = {
  name: 'a mutating webhook takes 500 ms',
  ...SLOW,
  slow: { kind: 'mutating', ms: 500 },
};

export const PAUSED: Run = {
  name: 'kube-controller-manager paused for 2 s at each target pod',
  ...USUAL,
  gives: 3,
  pauseMs: 2_000,
};

/** One address hides them both: SETTLE_MS is what waits for the second one. */
export const TWO_HIDDEN_API_SERVERS: Run = {
  name: 'two API servers behind one address, the second 100 ms late, SETTLE_MS=250',
  ...TWO_SERVERS,
  lagMs: 100,
  settleMs: 250,
};

/** Each is asked for the proof at its own address. */
export const TWO_API_SERVERS: Run = {
  name: 'two API servers, the second 400 ms late',
  ...TWO_SERVERS,
  lagMs: 400,
  arePublished: true,
};

/**
 * Hidden, and nobody waits: the proof stands for the first API server, and the second has not heard of the lock yet; so late
 * that a busy machine raises before that too. Only what each server asks itself holds here: the policies.
 */
export const TWO_API_SERVERS_LATE: Run = {
  name: 'two API servers behind one address, the second 8 s late, SETTLE_MS=0',
  ...TWO_SERVERS,
  lagMs: 8_000,
  isOnlyTenantsSpread: true,
  gives: 3,
};
