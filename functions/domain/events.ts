import * as z from 'zod';
import { shortList } from './bounded.ts';
import { EVENT, type EventType, type Reason } from './names.ts';
import type { Reference } from './lock.ts';

const reference = z.object({ name: z.string().min(1), uid: z.string().min(1) });

/** RFC 1123 label: what a namespace's name may be. */
const namespaceName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const objectName = z.string().min(1).max(253);
/** With the prefix of a cluster-wide one (vmmrq-name.ts). */
const vmmrqName = z.string().min(1).max(260);

/** Maximum text lengths in an event's data, characters; longer texts are cut. */
export const MAX_TEXT = { reason: 200, message: 4_000 } as const;

const base = z.object({
  namespace: namespaceName,
  token: z.string().min(1).max(64).optional(),
  migrations: shortList(reference).optional(),
  /** Names of the ResourceQuotas and VMMRQs of a lock, to be read again. */
  quotas: shortList(objectName).optional(),
  vmmrqs: shortList(vmmrqName).optional(),
  reason: z.string().max(MAX_TEXT.reason).optional(),
  message: z.string().max(MAX_TEXT.message).optional(),
});
const withToken = base.extend({ token: z.string().min(1).max(64) });

/** The data of each of our events: where to look, never what to do. */
export const EVENT_DATA: Readonly<Record<EventType, z.ZodType<z.infer<typeof base>>>> = {
  [EVENT.migrationFeasible]: base,
  [EVENT.migrationInfeasible]: base,
  [EVENT.namespaceLocked]: withToken,
  [EVENT.quotaRaised]: withToken,
  [EVENT.quotaUndone]: withToken,
  [EVENT.quotaLowered]: base,
  [EVENT.namespaceUnlocked]: base,
  // A lock that cannot be read has no token.
  [EVENT.lockExpired]: base,
  [EVENT.lockStalled]: withToken,
  [EVENT.migrationEnded]: withToken,
  [EVENT.sweepRequested]: base,
};

/** One of our events, before it is a CloudEvent. */
export interface OurEvent {
  readonly type: EventType;
  /** The sender: a step or the guard. */
  readonly from: string;
  readonly namespace: string;
  readonly token?: string;
  readonly migrations?: readonly Reference[];
  readonly quotas?: readonly string[];
  readonly vmmrqs?: readonly string[];
  readonly reason?: Reason;
  readonly message?: string;
  /** Part of the id, beside the token or instead of it, so that the same cause gives the same event. */
  readonly cause?: string;
}
