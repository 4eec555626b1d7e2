import * as z from 'zod';
import { EVENT, type EventType, type Reason } from './names.ts';
import type { Reference } from './lock.ts';

const reference = z.object({ name: z.string().min(1), uid: z.string().min(1) });

/** RFC 1123 label: what a namespace's name may be. */
const namespaceName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);

const base = z.object({
  namespace: namespaceName,
  token: z.string().min(1).max(64).optional(),
  migrations: z.array(reference).optional(),
  reason: z.string().max(200).optional(),
  message: z.string().max(4_000).optional(),
});
const withToken = base.extend({ token: z.string().min(1).max(64) });

/** The data of each of our events: what to look at, never what to do. */
export const EVENT_DATA: Readonly<Record<EventType, z.ZodType<z.infer<typeof base>>>> = {
  [EVENT.migrationFeasible]: base,
  [EVENT.migrationInfeasible]: base,
  [EVENT.namespaceLocked]: withToken,
  [EVENT.quotaRaised]: withToken,
  [EVENT.quotaLowered]: base,
  [EVENT.namespaceUnlocked]: base,
  // A lock that cannot be read has no token.
  [EVENT.lockExpired]: base,
  [EVENT.lockStalled]: withToken,
  [EVENT.sweepRequested]: base,
};

/** One of our events, before it is a CloudEvent. */
export interface OurEvent {
  readonly type: EventType;
  /** The step or the guard that says so. */
  readonly from: string;
  readonly namespace: string;
  readonly token?: string;
  readonly migrations?: readonly Reference[];
  readonly reason?: Reason;
  readonly message?: string;
  /** Where there is no token: makes the id, so that the same cause gives the same event. */
  readonly cause?: string;
}
