import { shortList } from './bounded.ts';
import * as z from '../runtime/zod.ts';

const count = z.int().check(z.nonnegative());

/** The guard's answer to `GET /view` for one namespace; it names no other. */
export const viewSchema = z.object({
  /**
   * Migration slots that KubeVirt's limits leave for it, after the running migrations and those of live locks of other
   * namespaces. `node`: of each node that is not in `nodes`.
   */
  left: z.object({ cluster: count, node: count, nodes: z.record(z.string(), count) }),
  /** KubeVirt's limits themselves (facts/kubevirt.md §1.5). */
  limits: z.object({ cluster: count, node: count }),
  /** Other migrations wait too. */
  others: z.boolean(),
  /** The namespace has a VMMRQ, or a cluster-wide one may select it. */
  served: z.boolean(),
  /** Cluster-wide VMMRQs exist. */
  clusterWide: z.boolean(),
  /** What is unsettled in this namespace. */
  open: z.object({
    /** UIDs of its Pending migrations: no condition reports an attachment pod that a quota refuses. */
    waiting: shortList(z.string()),
    /** UIDs of its refused migrations that no slot is left for. The guard notifies the namespace when there is one. */
    queued: shortList(z.string()),
    /** A VMMRQ's status has not been written yet, or reports something as ongoing. */
    status: z.boolean(),
  }),
  kubevirt: z.object({
    /** additionalGuestMemoryOverheadRatio; 1 when unset. */
    overheadRatio: z.string(),
    /** Whether this KubeVirt gives launchers limits by itself where a quota has limits. */
    autoLimits: z.boolean(),
    /** Key of the taint that drains a node. */
    drainTaint: z.string(),
  }),
  /** What to do about the incumbent, where it is installed or holds the namespace. */
  incumbent: z.optional(z.string()),
});

/** The guard's view of the cluster, for one namespace. Only a hint: KubeVirt's own limit decides. */
export type View = z.infer<typeof viewSchema>;
