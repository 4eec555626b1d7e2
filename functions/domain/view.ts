import * as z from 'zod';
import { shortList } from './bounded.ts';

const count = z.number().int().nonnegative();

/** What `GET /view` of the guard answers for one namespace; it names no other. */
export const viewSchema = z.object({
  /**
   * Slots that KubeVirt's limits leave for it, after the migrations that run and those that live locks of other namespaces
   * are for. `node`: of each node that is not in `nodes`.
   */
  left: z.object({ cluster: count, node: count, nodes: z.record(z.string(), count) }),
  /** KubeVirt's limits themselves (facts/kubevirt.md §1.5). */
  limits: z.object({ cluster: count, node: count }),
  /** Others wait too. */
  others: z.boolean(),
  /** It has a VMMRQ. */
  served: z.boolean(),
  /** What of this namespace is not settled. */
  open: z.object({
    /** UIDs of its migrations that are Pending: of an attachment pod that a quota refuses no condition tells. */
    waiting: shortList(z.string()),
    /** A VMMRQ's status has not been written yet, or says of something that it goes on. */
    status: z.boolean(),
  }),
  kubevirt: z.object({
    /** additionalGuestMemoryOverheadRatio; 1 when unset. */
    overheadRatio: z.string(),
    /** Whether this KubeVirt gives launchers limits by itself where a quota has limits. */
    autoLimits: z.boolean(),
  }),
  /** What to do about the incumbent, where it is installed or holds the namespace. */
  incumbent: z.string().optional(),
});

/** The cluster as the guard sees it, for one namespace. Only a hint: KubeVirt's own limit decides. */
export type View = z.infer<typeof viewSchema>;
