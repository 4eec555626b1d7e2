import { shortList } from './bounded.ts';
import { dnsLabel, dnsSubdomain } from './dns-name.ts';
import { EVENT, type EventType, type Reason } from './names.ts';
import { type MAINTENANCE_CHANGED } from './progress/names.ts';
import type { Reference } from './lock.ts';
import type { Subject } from './progress/progress-object.ts';
import { anyVmmrqName } from './vmmrq-name.ts';
import * as z from '../runtime/zod.ts';

const filled = z.string().check(z.minLength(1));

const token = filled.check(z.maxLength(64), z.describe("The lock's token."));
/** `feasibility` keeps the last ones it saw, and any client may post an event. Those of Kubernetes have 36 characters. */
export const uid = filled.check(z.maxLength(64));
const reference = z.object({ name: dnsSubdomain, uid });

/** Maximum text lengths in an event's data, characters; longer texts are cut. */
export const MAX_TEXT = { reason: 200, message: 4_000 } as const;

const base = z.object({
  namespace: dnsLabel,
  token: z.optional(token),
  migrations: z.optional(shortList(reference)),
  quotas: z
    .optional(shortList(dnsSubdomain))
    .check(z.describe('Names of the ResourceQuotas of a lock, to be read again.')),
  vmmrqs: z.optional(shortList(anyVmmrqName)).check(z.describe('Names of the VMMRQs of a lock.')),
  vmis: z
    .optional(shortList(dnsSubdomain))
    .check(z.describe("Names of the migrations' VMIs, so that `lock` reads them in its first round.")),
  reason: z.optional(z.string().check(z.maxLength(MAX_TEXT.reason))),
  message: z.optional(z.string().check(z.maxLength(MAX_TEXT.message))),
});
const withToken = z.extend(base, { token });

/** The data of each of our events about a namespace: where to look, never what to do. */
export const EVENT_DATA: Readonly<Record<EventType, z.ZodMiniType<z.infer<typeof base>>>> = {
  [EVENT.migrationFeasible]: base,
  [EVENT.migrationInfeasible]: base,
  [EVENT.quotaUntried]: base,
  [EVENT.namespaceLocked]: withToken,
  [EVENT.quotaRaised]: withToken,
  [EVENT.quotaUndone]: withToken,
  [EVENT.quotaLowered]: base,
  [EVENT.namespaceUnlocked]: base,
  // A lock that cannot be read has no token.
  [EVENT.lockExpired]: base,
  [EVENT.lockStalled]: withToken,
  [EVENT.migrationEnded]: withToken,
  [EVENT.resyncRequested]: base,
};

/** The data of `maintenance.changed`: which drain, or the upgrade. */
export const maintenanceChangedData = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('Drain'), node: dnsSubdomain }),
  z.object({ kind: z.literal('Upgrade') }),
]);

/** The guard's event about a drain or the upgrade, before it is a CloudEvent. */
export interface MaintenanceChanged {
  readonly type: typeof MAINTENANCE_CHANGED;
  readonly from: string;
  readonly maintenance: Subject;
  /** Part of the id, so that two guards that saw the same post the same event. */
  readonly cause: string;
}

/** An event of this project about a namespace, before it is a CloudEvent. */
export interface OurEvent {
  readonly type: EventType;
  /** The sender: a step or the guard. */
  readonly from: string;
  readonly namespace: string;
  readonly token?: string;
  readonly migrations?: readonly Reference[];
  readonly quotas?: readonly string[];
  readonly vmmrqs?: readonly string[];
  readonly vmis?: readonly string[];
  readonly reason?: Reason;
  readonly message?: string;
  /** Part of the id, beside the token or instead of it, so that the same cause gives the same event. */
  readonly cause?: string;
}
