import { MOVE_EVENT, type MoveEventType } from './names.ts';
import * as z from '../../runtime/zod.ts';

const filled = z.string().check(z.minLength(1));
const name = filled.check(z.maxLength(253));
const named = z.object({ namespace: name, name });

/** The data of every event about a VM that moves to another cluster. It has names and reasons, and nothing that a VM contains. */
const moveEventData = z.object({
  plan: named,
  migration: z.extend(named, { uid: filled }),
  vm: z.object({
    id: z
      .optional(z.string())
      .check(z.describe('The uid of the VM on the source; left out where it was not found.')),
    namespace: z.string(),
    name: z.string(),
  }),
  target: z
    .object({ namespace: z.optional(name).check(z.describe('Left out where the Plan is gone.')), name })
    .check(z.describe('The VM on the target.')),
  step: filled.check(z.describe('As in status.vms[].phase of the Migration.')),
  reason: z.optional(z.string()).check(z.describe('Why it waits, or how it ended.')),
  message: z.string().check(z.maxLength(2_000), z.describe('For people: what happens, or what to do.')),
  percent: z.int().check(z.minimum(0), z.maximum(100), z.describe('Steps of this VM that are done.')),
  left: z.int().check(z.nonnegative(), z.describe('VMs of the migration that have not ended; 0: it has.')),
});
export type MoveEventData = z.infer<typeof moveEventData>;

/** An event for subscribers. An event that is posted again has the same id. */
export const moveEvent = z.object({
  id: filled,
  type: z.enum(MOVE_EVENT),
  time: z.iso.datetime(),
  /** `<namespace>/<Migration>/<VM>`. */
  subject: filled,
  data: moveEventData,
});
export type MoveEvent = Readonly<z.infer<typeof moveEvent>>;

/** The schema of each event's data; `npm run reference` writes them to docs/events. */
export const MOVE_EVENT_DATA: ReadonlyMap<MoveEventType, z.ZodMiniType<MoveEventData>> = new Map(
  Object.values(MOVE_EVENT).map((type) => [type, moveEventData]),
);
