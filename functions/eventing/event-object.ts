import { dnsSubdomain } from '../domain/dns-name.ts';
import { uid } from '../domain/events.ts';
import { KIND } from '../domain/names.ts';
import { shortList, textRecord } from '../domain/bounded.ts';
import { isHardQuantity } from '../domain/quantity.ts';
import * as z from '../runtime/zod.ts';

const amounts = z.optional(textRecord(isHardQuantity));
const conditions = z.optional(
  shortList(
    z.object({
      type: z.string(),
      status: z.string(),
      observedGeneration: z.optional(z.int()),
      lastProbeTime: z.nullish(z.string()),
    }),
  ),
);
const metadata = z.object({
  name: z.optional(dnsSubdomain),
  uid: z.optional(uid),
  namespace: z.string(),
  generation: z.optional(z.int()),
  deletionTimestamp: z.optional(z.string()),
  annotations: z.optional(textRecord()),
});

const eventObjectSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal(KIND.migration.kind),
    metadata,
    spec: z.optional(z.object({ vmiName: z.catch(z.optional(dnsSubdomain), undefined) })),
    status: z.optional(z.object({ phase: z.optional(z.string()), conditions })),
  }),
  z.object({
    kind: z.literal(KIND.vmmrq.kind),
    metadata,
    status: z.optional(z.object({ conditions })),
  }),
  z.object({
    kind: z.literal(KIND.quota.kind),
    metadata,
    spec: z.object({ hard: amounts }),
    status: z.optional(z.object({ hard: amounts, used: amounts })),
  }),
]);

/** The object inside an event. It may be old or forged: a hint, never a reason to write (docs/adr/0015). */
export type EventObject = z.infer<typeof eventObjectSchema>;
export type EventObjectOf<K extends EventObject['kind']> = Extract<EventObject, { kind: K }>;

/** Returns undefined if the data is unreadable, or is not an object of this kind in this namespace. */
export function parseEventObject(
  data: unknown,
  about: { readonly kind: string; readonly namespace: string },
): EventObject | undefined {
  const parsed = eventObjectSchema.safeParse(data);
  if (!parsed.success) return undefined;
  const { kind, metadata: of } = parsed.data;
  return kind === about.kind && of.namespace === about.namespace ? parsed.data : undefined;
}
