import type { BlockedReason, MaintenanceEventType, MaintenanceReason } from './names.ts';
import type { KubernetesObject } from '../objects.ts';

/** What an admin does to many VMs at once. */
export const MAINTENANCE_KINDS = ['Drain', 'Upgrade'] as const;
export type MaintenanceKind = (typeof MAINTENANCE_KINDS)[number];

/** A drain, by its node, or the upgrade of the cluster's KubeVirt. */
export type Subject =
  { readonly kind: 'Drain'; readonly node: string } | { readonly kind: 'Upgrade'; readonly node?: undefined };

/** MaintenanceProgress: how far one drain or one upgrade has come. A report: no decision about a quota reads it. */
export interface MaintenanceProgress extends KubernetesObject {
  spec: ProgressSpec;
  /** The status; left out if the object was created a moment ago, and not written yet. */
  status?: ProgressStatus;
}

/** What it is about; immutable. */
export interface ProgressSpec {
  kind: MaintenanceKind;
  /** The node's name, or the deployment id that KubeVirt changes to: for people. */
  subject: string;
  /** Drain: the node. A node of the same name with another uid is another node. */
  node?: { name: string; uid: string };
  /** Upgrade: KubeVirt's deployment ids. `from` is left out where the new one was in place already. */
  deployment?: { from?: string; to: string };
}

/** Running and Blocked are open, the others are final. */
export type ProgressState = 'Running' | 'Blocked' | 'Completed' | 'Canceled' | 'Superseded' | 'Failed';

export interface ProgressStatus {
  state: ProgressState;
  /** Why it is in this state. */
  reason: BlockedReason | MaintenanceReason;
  message: string;
  /** `done` of `total` as text: "118/300". */
  progress: string;
  /** Every VM that was ever counted: those at the start, and newcomers. */
  total: number;
  done: number;
  left: number;
  /** VMs that are blocked. */
  blocked: number;
  /** RFC 3339. */
  startedAt: string;
  /** Time of a VM's last migration; left out until a first migration has ended. */
  movedAt?: string;
  /** Upgrade: when KubeVirt's own components were seen to be updated. It updates no VM before. */
  deployedAt?: string;
  endedAt?: string;
  /** What the VMs that are left wait for; a bucket without any is left out. */
  buckets: Bucket[];
  /** The keys of every VM that was ever counted, one after another (counts.ts); empty once it is final. */
  counted: string;
  /** The last `progressed` or `blocked` event. */
  reported: { done: number; at: string };
  /** The number of the last event. */
  sequence: number;
  /** Events that are not posted yet. */
  outbox: OutboxEntry[];
}

/** What a VM that is left waits for. Each VM is in one bucket. */
export const BUCKETS = [
  /** The VM's migration runs. */
  'running',
  /** The VM's migration waits for a slot, for our back-off, or for a node. */
  'waiting',
  /** A quota refuses its migration. */
  'blocked',
  /** The VM cannot be migrated live, so a drain evicts it never, and an upgrade leaves it as it is. */
  'notMigratable',
  /** KubeVirt's workloadUpdateMethods are empty, so KubeVirt does not update the VM. */
  'notAutomated',
  /** The VM has no migration for this, or another one is in flight. */
  'noMigrationYet',
  /** The VM is stopped and started instead of migrated, or is being deleted. */
  'restarted',
  /** The VM's last migration failed, and no other one has been created, or others have been for minutes without success. */
  'failed',
] as const;
export type BucketName = (typeof BUCKETS)[number];

export interface Bucket {
  name: BucketName;
  count: number;
  /** The oldest ones, at most MAX_NAMED of them. */
  vms: BucketEntry[];
}

export interface BucketEntry {
  namespace: string;
  name: string;
  /** RFC 3339; since when it waits for that. */
  since?: string;
  /** Why: a verdict of feasibility, `Unexamined` where none is known, or a word of KubeVirt's. */
  reason?: string;
  message?: string;
  quotas?: BlockingQuota[];
}

/** A ResourceQuota that refuses a VM's migration, and how much of each key is missing. */
export interface BlockingQuota {
  name: string;
  missing: Readonly<Record<string, string>>;
}

/** An event that must be posted at least once, always with this id. */
export interface OutboxEntry {
  id: string;
  type: MaintenanceEventType;
  /** Counts the events of one object, without gaps. */
  sequence: number;
  /** RFC 3339. */
  time: string;
  data: ProgressEventData;
}

/** What a subscriber reads (event-data.ts has its schema). */
export interface ProgressEventData {
  name: string;
  uid: string;
  kind: MaintenanceKind;
  subject: string;
  reason: string;
  message: string;
  total: number;
  done: number;
  left: number;
  blocked: number;
  /** How many VMs each bucket has. */
  buckets: Record<string, number>;
}

const OPEN: readonly (ProgressState | undefined)[] = [undefined, 'Running', 'Blocked'];

/** Whether the object is not final, even if its status was never written. */
export const isOpen = ({ status }: MaintenanceProgress): boolean => OPEN.includes(status?.state);

/**
 * When an object ended, by the API server's clock, which wrote its creation (milliseconds); NaN: it has not. The clock of `progress`
 * may be wrong, so only the time between its start and its end counts.
 */
export const endOf = ({ metadata, status }: MaintenanceProgress): number =>
  Date.parse(metadata.creationTimestamp) +
  Date.parse(status?.endedAt ?? '') -
  Date.parse(status?.startedAt ?? '');

/** Whether it has events to post. */
export const owesEvents = ({ status }: MaintenanceProgress): boolean => (status?.outbox ?? []).length > 0;

/** Whether a VM was being migrated at the last status, or has left since. */
export const hasMoved = (before: Pick<ProgressStatus, 'buckets' | 'left'>, left: number): boolean =>
  countOf(before.buckets, 'running') > 0 || left < before.left;

/** The number of VMs in a bucket by name; 0 if there is no such bucket. */
export const countOf = (buckets: readonly Bucket[], wanted: BucketName): number =>
  buckets.find(({ name }) => name === wanted)?.count ?? 0;
