import { shortList, textRecord } from './bounded.ts';
import type { LabelSelector, Migration } from './objects.ts';
import * as z from '../runtime/zod.ts';

const count = z.int().check(z.nonnegative());
const text = z.string();
const maybe = z.optional(text);

/** The guard sends no more of one namespace: its answer stays below 512 KiB (cluster/view.ts). */
export const MAX_MIGRATIONS_IN_VIEW = 100;

/** A migration as the guard's watch keeps it (LISTED_MIGRATIONS_TO_COME): without what no verdict reads, or what was too long. */
const migration = z.object({
  metadata: z.object({
    ...{ name: text, uid: text, creationTimestamp: text },
    ...{ namespace: maybe, deletionTimestamp: maybe, annotations: z.optional(textRecord()) },
  }),
  spec: z.object({
    ...{ vmiName: maybe, priority: maybe },
    sendTo: z.optional(z.object({ migrationID: maybe })),
    receive: z.optional(z.object({ migrationID: maybe })),
  }),
  status: z.optional(
    z.object({
      phase: maybe,
      conditions: z.optional(
        z.array(z.object({ type: maybe, status: maybe, lastProbeTime: z.nullish(text) })),
      ),
      phaseTransitionTimestamps: z.optional(
        z.array(z.object({ phase: maybe, phaseTransitionTimestamp: maybe })),
      ),
    }),
  ),
}) as unknown as z.ZodMiniType<Migration>;

const selector = z.object({
  matchLabels: z.optional(textRecord()),
  matchExpressions: z.optional(
    shortList(z.object({ key: text, operator: text, values: z.optional(shortList(text)) })),
  ),
}) as unknown as z.ZodMiniType<LabelSelector>;

/** The guard's answer to `GET /view` for one namespace; it names no other. */
export const viewSchema = z.object({
  /**
   * Migration slots that KubeVirt's limits leave for it, after the running migrations and those of live locks of other
   * namespaces. `node`: of each node that is not in `nodes`.
   */
  left: z.object({ cluster: count, node: count, nodes: z.record(text, count) }),
  /** KubeVirt's limits themselves (facts/kubevirt.md §1.5). */
  limits: z.object({ cluster: count, node: count }),
  /** Other migrations wait too. */
  others: z.boolean(),
  /** The namespace has a VMMRQ, or a cluster-wide one may select it. */
  served: z.boolean(),
  /** Cluster-wide VMMRQs exist. */
  clusterWide: z.boolean(),
  /** The namespace's migrations that have not ended; left out if there are more than MAX_MIGRATIONS_IN_VIEW. */
  migrations: z.optional(shortList(migration)),
  /** What is unsettled in this namespace. */
  open: z.object({
    /** UIDs of its refused migrations that no slot is left for. The guard notifies the namespace when there is one. */
    queued: shortList(text),
    /** UIDs of those that wait whatever locks other namespaces have: running migrations have the slots. */
    slotless: z.optional(shortList(text)),
    /** A VMMRQ's status has not been written yet, or reports something as ongoing. */
    status: z.boolean(),
  }),
  /** The namespace's lock as this guard sees it, and for how long it has watched it, milliseconds. Left out: none. */
  lock: z.optional(z.object({ token: text, watchedMs: z.number().check(z.nonnegative()) })),
  kubevirt: z.object({
    /** additionalGuestMemoryOverheadRatio; 1 when unset. */
    overheadRatio: text,
    /** Whether this KubeVirt gives launchers limits by itself where a quota has limits. */
    autoLimits: z.boolean(),
    /** autoCPULimitNamespaceLabelSelector. */
    autoCpuNamespaces: z.optional(selector),
    /** cpuAllocationRatio, if it is set. */
    cpuAllocationRatio: z.optional(z.number()),
    /** vmStateStorageClass, if it is set. */
    stateStorageClass: maybe,
    /** Key of the taint that drains a node. */
    drainTaint: text,
  }),
  /** What to do about the incumbent, where it is installed or holds the namespace. */
  incumbent: maybe,
});

/** The guard's view of the cluster, for one namespace. Only a hint: KubeVirt's own limit decides. */
export type View = z.infer<typeof viewSchema>;
