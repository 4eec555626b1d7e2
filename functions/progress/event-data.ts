import { MAINTENANCE_EVENT, type MaintenanceEventType } from '../domain/progress/names.ts';
import { MAX_MESSAGE } from './outbox.ts';
import {
  BUCKETS,
  MAINTENANCE_KINDS,
  type MaintenanceKind,
  type ProgressEventData,
} from '../domain/progress/progress-object.ts';
import * as z from '../runtime/zod.ts';

const whole = z.int().check(z.nonnegative());
const filled = z.string().check(z.minLength(1));

/** The data of every event about a drain or an upgrade: counts at that moment. Names of VMs are in the object only. */
const progressEventData = z.object({
  name: filled.check(z.describe('The MaintenanceProgress.')),
  uid: filled.check(z.describe('Its uid.')),
  kind: z.enum(MAINTENANCE_KINDS),
  subject: filled.check(z.describe("The node's name, or the deployment id that KubeVirt changes to.")),
  reason: filled.check(z.describe('Why it is in its state, or what blocks it.')),
  message: z.string().check(z.maxLength(MAX_MESSAGE), z.describe('For people.')),
  total: whole.check(z.describe('VMs at the start, and newcomers.')),
  done: whole.check(z.describe('VMs that have left the node, or are up to date.')),
  left: whole.check(z.describe('VMs that have not.')),
  blocked: whole.check(z.describe('VMs that are blocked.')),
  buckets: z.partialRecord(z.enum(BUCKETS), whole).check(z.describe('What the VMs that are left wait for.')),
});

const isDrain = (type: MaintenanceEventType): boolean => type.startsWith('io.kubevirt.mtq.drain.');

/** The schema of each event's data; `npm run reference` writes them to docs/events. */
export const MAINTENANCE_EVENT_DATA: ReadonlyMap<
  MaintenanceEventType,
  z.ZodMiniType<ProgressEventData>
> = new Map(
  Object.values(MAINTENANCE_EVENT).map((type) => [
    type,
    z.extend(progressEventData, { kind: z.literal<MaintenanceKind>(isDrain(type) ? 'Drain' : 'Upgrade') }),
  ]),
);
