import { BLOCKED_BY } from './names.ts';
import { BUCKETS, MAINTENANCE_KINDS, type Bucket, type MaintenanceProgress } from './progress-object.ts';
import * as z from '../../runtime/zod.ts';

const whole = z.int().check(z.nonnegative());
const text = z.string();

const buckets = z.array(
  z.object({
    name: z.enum(BUCKETS),
    count: whole,
    vms: z.array(
      z.object({
        namespace: text,
        name: text,
        since: z.optional(text),
        reason: z.optional(text),
        message: z.optional(text),
        quotas: z.optional(z.array(z.object({ name: text, missing: z.record(text, text) }))),
      }),
    ),
  }),
) as unknown as z.ZodMiniType<Bucket[]>;

/** A stored object, to be written again with its resourceVersion: the API server validates it. */
const progress = z.custom<MaintenanceProgress>(
  (value) =>
    z.object({ metadata: z.object({ name: text, uid: text, resourceVersion: text }) }).safeParse(value)
      .success,
  'must be a MaintenanceProgress as stored',
);

/** The guard's answer to `GET /maintenance` for one drain or for the upgrade: all that `progress` needs. */
export const maintenanceSchema = z.object({
  kind: z.enum(MAINTENANCE_KINDS),
  /** Label and name prefix of a new object: `drain-<8 of sha256(node)>`, `upgrade-<8 of the deployment id>`. */
  label: text,
  /** The highest number of an object with that label; 0: there is none. */
  highest: whole,
  /** The node; `uid` left out: there is none of this name. */
  node: z.optional(z.object({ name: text, uid: z.optional(text), isDraining: z.boolean() })),
  /** KubeVirt's deployment ids; left out: there is no KubeVirt, or it is being deleted. */
  kubevirt: z.optional(
    z.object({
      ...{ uid: text, name: text, namespace: text },
      ...{ observed: z.optional(text), target: z.optional(text) },
    }),
  ),
  /** The keys of the VMs that are left (counts.ts). */
  left: z.array(text),
  /** The keys of the VMs that KubeVirt has moved for it a short time ago; left out by a guard of an older release. */
  moved: z.optional(z.array(text)),
  /** Drain: VMs on the node that it does not wait for, because they have no eviction strategy. */
  others: z.optional(whole),
  /** Drain: VMs that migrate to the node, and that it will wait for; left out: not known yet. */
  arriving: z.optional(whole),
  buckets,
  /** How many VMs are blocked, by what blocks them. */
  blockedBy: z.partialRecord(z.enum(Object.values(BLOCKED_BY)), whole),
  /** A VM is marked for eviction or has a migration for this, or the node has the drain taint: cordoned alone is no drain. */
  isMarked: z.boolean(),
  /** Upgrade: nothing has been outdated or in flight for a minute, and virt-controller is alive. */
  isSettled: z.boolean(),
  /** The newest object about this drain, or about any upgrade. */
  current: z.optional(progress),
  /** Older objects with events to post. */
  owing: z.array(progress),
  /** What shows the incumbent, anywhere in the cluster; left out: nothing. Then nothing is written (domain/incumbent.ts). */
  incumbent: z.optional(text),
  /** Objects to delete (retention.ts). */
  expired: z.array(z.object({ name: text, uid: text, resourceVersion: text })),
});

/** How one drain or the upgrade is now, by the guard's watches. */
export type Maintenance = z.infer<typeof maintenanceSchema>;
