export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
}

/**
 * All metrics of the guard; docs/reference.md lists them too. No label names a namespace: the series of each tenant that ever
 * migrated would remain. Functions have no metrics, because they scale to zero.
 */
export const METRIC = {
  reviews: {
    name: 'mtq_reviews_total',
    type: 'counter',
    help: 'Reviews that were answered, by resource and outcome: allowed, refused, or failed (refused, as it could not be decided).',
  },
  reviewSeconds: {
    name: 'mtq_review_duration_seconds',
    type: 'histogram',
    help: 'How long deciding a review took.',
  },
  repairs: {
    name: 'mtq_repairs_total',
    type: 'counter',
    help: 'Repairs by the guard itself, by outcome: done (something was restored), none (nothing was due) or failed (it tries again).',
  },
  deadLetters: {
    name: 'mtq_dead_letters_total',
    type: 'counter',
    help: 'Events that the Broker gave up on, by type; this replica took them.',
  },
  lockedNamespaces: {
    name: 'mtq_locked_namespaces',
    type: 'gauge',
    help: 'Namespaces that are locked now.',
  },
  longestLock: {
    name: 'mtq_longest_lock_seconds',
    type: 'gauge',
    help: 'How long this replica has seen the oldest lock that is held now; 0 without any.',
  },
  raisedQuotas: {
    name: 'mtq_raised_quotas',
    type: 'gauge',
    help: 'ResourceQuotas that may be enforced above their original now.',
  },
  maintenanceBlocked: {
    name: 'mtq_maintenance_blocked',
    type: 'gauge',
    help: 'VMs that block an open drain or upgrade, by kind (Drain, Upgrade).',
  },
  liveMigrations: {
    name: 'mtq_live_migrations',
    type: 'gauge',
    help: 'Migrations between clusters that have started, and have not ended.',
  },
  ready: {
    name: 'mtq_ready',
    type: 'gauge',
    help: 'Whether the last readiness probe was answered with yes; 0 before the first.',
  },
  startTime: {
    name: 'process_start_time_seconds',
    type: 'gauge',
    help: 'When the process started, seconds since 1970.',
  },
  memory: {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Resident memory.',
  },
} as const satisfies Record<string, Metric>;
