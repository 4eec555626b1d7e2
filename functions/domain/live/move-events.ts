import * as z from 'zod';
import { MOVE_EVENT, type MoveEventType } from './names.ts';

const name = z.string().min(1).max(253);
const named = z.object({ namespace: name, name });

/** The data of every event about a VM that moves to another cluster. It has names and reasons, and nothing that a VM contains. */
const moveEventData = z.object({
  plan: named,
  migration: named.extend({ uid: z.string().min(1) }),
  vm: z.object({
    id: z.string().optional().describe('The uid of the VM on the source; left out where it was not found.'),
    namespace: z.string(),
    name: z.string(),
  }),
  target: named.describe('The VM on the target.'),
  step: z.string().min(1).describe('As in status.vms[].phase of the Migration.'),
  reason: z.string().optional().describe('Why it waits, or how it ended.'),
  message: z.string().max(2_000).describe('For people: what happens, or what to do.'),
  percent: z.number().int().min(0).max(100).describe('Steps of this VM that are done.'),
  left: z.number().int().nonnegative().describe('VMs of the migration that have not ended; 0: it has.'),
});
export type MoveEventData = z.infer<typeof moveEventData>;

/** An event for subscribers. Posted again, it has the same id. */
export const moveEvent = z.object({
  id: z.string().min(1),
  type: z.enum(MOVE_EVENT),
  time: z.iso.datetime(),
  /** `<namespace>/<Migration>/<VM>`. */
  subject: z.string().min(1),
  data: moveEventData,
});
export type MoveEvent = Readonly<z.infer<typeof moveEvent>>;

/** The schema of each event's data; `npm run reference` writes them to docs/events. */
export const MOVE_EVENT_DATA: ReadonlyMap<MoveEventType, z.ZodType<MoveEventData>> = new Map(
  Object.values(MOVE_EVENT).map((type) => [type, moveEventData]),
);
