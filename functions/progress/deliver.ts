import { shown } from '../domain/foreign-text.ts';
import { EVENT_REASON, KIND, REASON } from '../domain/names.ts';
import { MAINTENANCE_EVENT } from '../domain/progress/names.ts';
import type { Maintenance } from '../domain/progress/maintenance.ts';
import type { MaintenanceProgress, OutboxEntry } from '../domain/progress/progress-object.ts';
import type { InvolvedObject } from '../domain/verdict/report.ts';
import { writeEvents } from '../cluster/report.ts';
import { postInOrder } from '../eventing/post-in-order.ts';
import { isConflict, isNotFound } from '../kubernetes/errors.ts';
import { PROGRESSES } from '../kubernetes/resources.ts';
import type { StepContext } from '../host/step.ts';

const BLOCKED: readonly string[] = [MAINTENANCE_EVENT.drainBlocked, MAINTENANCE_EVENT.upgradeBlocked];

/**
 * Posts what an object's outbox has, in order, and then takes it out. What is posted and not taken out is posted again with the
 * same id, by the run that follows.
 */
export async function deliver(
  object: MaintenanceProgress,
  seen: Maintenance,
  context: StepContext,
): Promise<void> {
  const { status } = object;
  if (status === undefined || status.outbox.length === 0) return;
  const outbox = await postInOrder(status.outbox, context);
  const posted = status.outbox.slice(0, status.outbox.length - outbox.length);
  if (posted.length === 0) return;
  for (const entry of posted)
    if (BLOCKED.includes(entry.type)) await reportBlocked(entry, object, { seen, context });
  try {
    const next = { ...object, status: { ...status, outbox: [...outbox] } };
    await context.cluster.replace(PROGRESSES, next, { subresource: 'status' });
  } catch (error) {
    // Another run has written meanwhile. The guard asks again while the outbox is not empty.
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}

/** Characters of a message, so that the command after it is not cut off. */
const MAX_SHOWN = 700;

/** A Kubernetes Event on the Node or on KubeVirt, where an admin looks first. */
async function reportBlocked(
  { id, data }: OutboxEntry,
  { metadata, spec }: MaintenanceProgress,
  { seen, context }: { readonly seen: Maintenance; readonly context: StepContext },
): Promise<void> {
  const on = involved(spec, seen);
  if (on === undefined) return;
  const reason = spec.kind === 'Drain' ? EVENT_REASON.drainBlocked : EVENT_REASON.upgradeBlocked;
  const how = spec.kind === 'Drain' ? 'moved' : 'up to date';
  const count = `${String(data.done)} of ${String(data.total)} ${data.total === 1 ? 'VM' : 'VMs'} ${how}`;
  const next = `Follow it: kubectl vmmrq progress ${metadata.name}`;
  const message = `${count}: ${shown(data.message, MAX_SHOWN)} ${next}`;
  await writeEvents(context, [{ on, type: 'Warning', reason, message, because: REASON.reported, key: id }]);
}

function involved(
  { node }: MaintenanceProgress['spec'],
  { kubevirt }: Maintenance,
): InvolvedObject | undefined {
  if (node !== undefined) return { ...KIND.node, name: node.name, uid: node.uid };
  return kubevirt === undefined
    ? undefined
    : { ...KIND.kubevirt, namespace: kubevirt.namespace, name: kubevirt.name, uid: kubevirt.uid };
}
