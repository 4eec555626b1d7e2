import * as z from 'zod';
import { KIND } from '../domain/names.ts';
import { shortList, textRecord } from '../domain/bounded.ts';
import { isHardQuantity } from '../domain/quantity.ts';

const objectName = z.string().min(1).max(253);
const amounts = textRecord(isHardQuantity).optional();
const conditions = shortList(
  z.object({
    type: z.string(),
    status: z.string(),
    observedGeneration: z.number().int().optional(),
    lastProbeTime: z.string().nullish(),
  }),
).optional();
const metadata = z.object({
  name: z.string().optional(),
  uid: z.string().optional(),
  namespace: z.string(),
  generation: z.number().int().optional(),
  deletionTimestamp: z.string().optional(),
  annotations: textRecord().optional(),
});

const eventObjectSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal(KIND.migration.kind),
    metadata,
    spec: z.object({ vmiName: objectName.optional().catch(undefined) }).optional(),
    status: z.object({ phase: z.string().optional(), conditions }).optional(),
  }),
  z.object({
    kind: z.literal(KIND.vmmrq.kind),
    metadata,
    status: z.object({ conditions }).optional(),
  }),
  z.object({
    kind: z.literal(KIND.quota.kind),
    metadata,
    spec: z.object({ hard: amounts }),
    status: z.object({ hard: amounts, used: amounts }).optional(),
  }),
]);

/** The object inside an event. It may be old or forged: a hint, never a reason to write (docs/adr/0015). */
export type EventObject = z.infer<typeof eventObjectSchema>;
export type EventObjectOf<K extends EventObject['kind']> = Extract<EventObject, { kind: K }>;

/** undefined: the data is unreadable, or it is not an object of this kind in this namespace. */
export function parseEventObject(
  data: unknown,
  about: { readonly kind: string; readonly namespace: string },
): EventObject | undefined {
  const parsed = eventObjectSchema.safeParse(data);
  if (!parsed.success) return undefined;
  const { kind, metadata: of } = parsed.data;
  return kind === about.kind && of.namespace === about.namespace ? parsed.data : undefined;
}
