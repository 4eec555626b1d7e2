/** The names about drains and upgrades that users see, each with one sentence; docs/events and the CRD repeat them. */

/** Label of a MaintenanceProgress: its name without the number at its end. */
export const MAINTENANCE_LABEL = 'mtq.kubevirt.io/maintenance';

/** The guard's CloudEvent: a drain or an upgrade has changed, so `progress` brings its MaintenanceProgress up to date. */
export const MAINTENANCE_CHANGED = 'io.kubevirt.mtq.maintenance.changed';

/** Types of the CloudEvents about a drain or an upgrade, for subscribers; docs/events has their schemas. */
export const MAINTENANCE_EVENT = {
  /** A drain has begun. */
  drainStarted: 'io.kubevirt.mtq.drain.started',
  /** More VMs have left the node; at most every 10 % or minute. */
  drainProgressed: 'io.kubevirt.mtq.drain.progressed',
  /** VMs stay on the node until an admin acts, or, by Limit, until other migrations end; again where the reason changes. */
  drainBlocked: 'io.kubevirt.mtq.drain.blocked',
  /** No VM is blocked now. */
  drainUnblocked: 'io.kubevirt.mtq.drain.unblocked',
  /** No VM with an eviction strategy is left on the node. */
  drainCompleted: 'io.kubevirt.mtq.drain.completed',
  /** The node takes pods again. */
  drainCanceled: 'io.kubevirt.mtq.drain.canceled',
  /** The node is gone. */
  drainFailed: 'io.kubevirt.mtq.drain.failed',
  /** KubeVirt changes its version, or VMs became outdated. */
  upgradeStarted: 'io.kubevirt.mtq.upgrade.started',
  /** More VMs are up to date; at most every 10 % or minute. */
  upgradeProgressed: 'io.kubevirt.mtq.upgrade.progressed',
  /** VMs stay outdated until an admin acts, or, by Limit, until other migrations end; again where the reason changes. */
  upgradeBlocked: 'io.kubevirt.mtq.upgrade.blocked',
  /** No VM is blocked now. */
  upgradeUnblocked: 'io.kubevirt.mtq.upgrade.unblocked',
  /** No VM is outdated. */
  upgradeCompleted: 'io.kubevirt.mtq.upgrade.completed',
  /** KubeVirt changes to another version. */
  upgradeSuperseded: 'io.kubevirt.mtq.upgrade.superseded',
  /** KubeVirt is gone. */
  upgradeFailed: 'io.kubevirt.mtq.upgrade.failed',
} as const;
export type MaintenanceEventType = (typeof MAINTENANCE_EVENT)[keyof typeof MAINTENANCE_EVENT];

/** What blocks a drain or an upgrade, the first one that applies. */
export const BLOCKED_BY = {
  /** A quota refuses migrations. */
  quota: 'Quota',
  /** VMs cannot be migrated live. */
  notMigratable: 'NotMigratable',
  /** KubeVirt has no workloadUpdateMethods. */
  notAutomated: 'NotAutomated',
  /** Target pods find no node. */
  capacity: 'Capacity',
  /** Migrations fail again and again. */
  migrationFailed: 'MigrationFailed',
  /** VMs do not stop, minutes after their grace period. */
  stopping: 'Stopping',
  /** A controller other than KubeVirt must move or stop VMs (evictionStrategy External), and does not. */
  external: 'ExternalEviction',
  /** No component evicts VMs of the node. */
  notEvicted: 'NotEvicted',
  /** KubeVirt creates no migrations or no target pods, and no quota is the cause. */
  pending: 'Pending',
  /** KubeVirt's parallel limits are used up by others. */
  limit: 'Limit',
} as const;
export type BlockedReason = (typeof BLOCKED_BY)[keyof typeof BLOCKED_BY];

/** Why a MaintenanceProgress is in its state, where nothing blocks it. */
export const MAINTENANCE_REASON = {
  /** VMs are being moved or updated. */
  underWay: 'UnderWay',
  /** No VM with an eviction strategy is left on the node. */
  drained: 'Drained',
  /** The node takes pods again. */
  uncordoned: 'Uncordoned',
  /** The node was deleted, or replaced by another one of its name. */
  nodeGone: 'NodeGone',
  /** No VM has KubeVirt's label of an outdated launcher any more. */
  updated: 'Updated',
  /** No VM was outdated. */
  noWorkloads: 'NoWorkloads',
  /** KubeVirt changes to another version. */
  targetChanged: 'TargetChanged',
  /** KubeVirt is deleted. */
  kubevirtGone: 'KubeVirtGone',
} as const;
export type MaintenanceReason = (typeof MAINTENANCE_REASON)[keyof typeof MAINTENANCE_REASON];
