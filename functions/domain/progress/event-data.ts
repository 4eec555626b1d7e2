import * as z from 'zod';
import { MAINTENANCE_EVENT, type MaintenanceEventType } from './names.ts';
import { MAX_MESSAGE } from './outbox.ts';
import {
  BUCKETS,
  MAINTENANCE_KINDS,
  type MaintenanceKind,
  type ProgressEventData,
} from './progress-object.ts';

const whole = z.number().int().nonnegative();

/** The data of every event about a drain or an upgrade: counts at that moment. Names of VMs are in the object only. */
const progressEventData = z.object({
  name: z.string().min(1).describe('The MaintenanceProgress.'),
  uid: z.string().min(1).describe('Its uid.'),
  kind: z.enum(MAINTENANCE_KINDS),
  subject: z.string().min(1).describe("The node's name, or the deployment id that KubeVirt changes to."),
  reason: z.string().min(1).describe('Why it is in its state, or what blocks it.'),
  message: z.string().max(MAX_MESSAGE).describe('For people.'),
  total: whole.describe('VMs at the start, and newcomers.'),
  done: whole.describe('VMs that have left the node, or are up to date.'),
  left: whole.describe('VMs that have not.'),
  blocked: whole.describe('VMs that do not get on by themselves.'),
  buckets: z.partialRecord(z.enum(BUCKETS), whole).describe('What the VMs that are left wait for.'),
});

const isDrain = (type: MaintenanceEventType): boolean => type.startsWith('io.kubevirt.mtq.drain.');

/** The schema of each event's data; `npm run reference` writes them to docs/events. */
export const MAINTENANCE_EVENT_DATA: ReadonlyMap<
  MaintenanceEventType,
  z.ZodType<ProgressEventData>
> = new Map(
  Object.values(MAINTENANCE_EVENT).map((type) => [
    type,
    progressEventData.extend({ kind: z.literal<MaintenanceKind>(isDrain(type) ? 'Drain' : 'Upgrade') }),
  ]),
);
