import type { SlowWebhook } from './slow-webhook.ts';

/** The cluster in which the tenants attack. */
export interface Run {
  readonly name: string;
  /** Namespaces of each kind, each with one VM. */
  readonly tenants: { readonly admin: number; readonly generous: number; readonly careless: number };
  /** Clients of each tenant that create pods. */
  readonly podClients: number;
  readonly settleMs: number;
  /** Another webhook that reviews pods slowly. */
  readonly slow?: SlowWebhook;
  /** How long kube-controller-manager is paused each time a target pod appears, milliseconds. */
  readonly pauseMs?: number;
  /** Two API servers; tenants, functions and guard use both. The delay of the second one's namespace watch, milliseconds. */
  readonly lagMs?: number;
  /** Each API server publishes an address of its own. */
  readonly arePublished?: boolean;
  /** Functions and guard use only the first API server, so they never wait for the second one's namespace watch. */
  readonly isOnlyTenantsSpread?: boolean;
  /**
   * For how many launchers the VMMRQ gives an allowance; default 1 to admins, 3 to the others. With 1, an admitted pod takes
   * the target's headroom. With more, all of it is raised (policy Fixed): there is headroom to steal for as long as
   * status.hard stays raised, and pods outside the lock do not use all of it.
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

/** One address hides both servers, so only SETTLE_MS gives the second one time to see the lock. */
export const TWO_HIDDEN_API_SERVERS: Run = {
  name: 'two API servers behind one address, the second 100 ms late, SETTLE_MS=250',
  ...TWO_SERVERS,
  lagMs: 100,
  settleMs: 250,
};

/** `raise` asks each server for the proof, at the server's own address. */
export const TWO_API_SERVERS: Run = {
  name: 'two API servers, the second 400 ms late',
  ...TWO_SERVERS,
  lagMs: 400,
  arePublished: true,
};

/**
 * One address and no settling time: the proof holds for the first API server only, while the second has not seen the lock. Its
 * delay is so long that even a busy machine raises earlier. Only the policies hold here, because each server evaluates them.
 */
export const TWO_API_SERVERS_LATE: Run = {
  name: 'two API servers behind one address, the second 8 s late, SETTLE_MS=0',
  ...TWO_SERVERS,
  lagMs: 8_000,
  isOnlyTenantsSpread: true,
  gives: 3,
};
