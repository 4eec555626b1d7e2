import type { MaintenanceProgress } from '../domain/progress/progress-object.ts';
import type { Maintenance } from '../domain/progress/maintenance.ts';
import type { Opening } from './opening.ts';
import { REASON } from '../domain/names.ts';
import { MAINTENANCE_CHANGED, MAINTENANCE_LABEL } from '../domain/progress/names.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../kubernetes/errors.ts';
import { PROGRESSES } from '../kubernetes/resources.ts';
import type { Outcome, Step, StepContext } from '../host/step.ts';
import { decide, decideFor } from './decide.ts';
import { deliver } from './deliver.ts';

/**
 * Keeps the MaintenanceProgress of a drain or of the upgrade, and posts its events. One read of the guard's view, which has the
 * object too, and at most one PUT for a change; a second PUT takes the posted events out of the outbox.
 */
export const progress: Step = {
  name: 'progress',
  triggers: [{ type: MAINTENANCE_CHANGED }],
  replies: [],
  isSerialized: true,
  handle,
};

/** Objects that one run deletes: the guard asks again for the others. */
const MAX_REMOVED = 20;

async function handle({ maintenance: subject }: StepRequest, context: StepContext): Promise<Outcome> {
  const seen = subject === undefined ? undefined : await context.maintenance(subject);
  if (seen === undefined) throw new Error('the guard did not answer at /maintenance');
  if (seen.incumbent !== undefined) return { reason: REASON.incumbentPresent, message: seen.incumbent };
  // For people, and for limits of minutes and hours: no clock of another process is compared with it.
  const now = context.clock.now().getTime();
  const { message, written } = await write(seen, now, context);
  const owing = [...seen.owing, ...(written === undefined ? [] : [written])];
  for (const object of owing) await deliver(object, seen, context);
  for (const expired of seen.expired.slice(0, MAX_REMOVED)) await remove(expired, context);
  return { reason: REASON.reported, message };
}

interface Written {
  readonly message: string;
  /** The object as stored now; undefined: another run writes it. */
  readonly written: MaintenanceProgress | undefined;
}

async function write(seen: Maintenance, now: number, context: StepContext): Promise<Written> {
  const decision = decide(seen, now);
  if (decision.kind === 'none') return { message: decision.message, written: seen.current };
  const { message } = decision;
  if (decision.kind === 'write') return { message, written: await put(decision.object, context) };
  const created = await create(decision.opening, context);
  if (created === undefined) return { message, written: undefined };
  const begun = decideFor(created, seen, now);
  return { message, written: begun.kind === 'none' ? created : await put(begun.object, context) };
}

/** Returns undefined if another run created it first. The guard's next view has that one. */
async function create(
  { name, label, spec }: Opening,
  { cluster }: StepContext,
): Promise<MaintenanceProgress | undefined> {
  try {
    const metadata = { name, labels: { [MAINTENANCE_LABEL]: label } };
    return (await cluster.create(PROGRESSES, { metadata, spec })).object;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return undefined;
  }
}

/** Returns undefined if another writer was first, or it is gone. The guard asks again while the object is not as it must be. */
async function put(
  object: MaintenanceProgress,
  { cluster }: StepContext,
): Promise<MaintenanceProgress | undefined> {
  try {
    return (await cluster.replace(PROGRESSES, object, { subresource: 'status' })).object;
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return undefined;
    throw error;
  }
}

async function remove(
  { name, uid, resourceVersion }: Maintenance['expired'][number],
  { cluster }: StepContext,
): Promise<void> {
  try {
    await cluster.delete(PROGRESSES, { name }, { preconditions: { uid, resourceVersion } });
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
