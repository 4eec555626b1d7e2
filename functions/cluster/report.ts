import type { Clock } from '../runtime/clock.ts';
import { withAdvice } from '../domain/advice.ts';
import { fingerprint } from '../domain/fingerprint.ts';
import { ANNOTATION, FIELD_MANAGER } from '../domain/names.ts';
import { isSame } from '../domain/same.ts';
import type { EventReport } from '../domain/verdict/report.ts';
import type { Vmmrq, VmmrqStatus } from '../domain/objects.ts';
import type { Log } from '../runtime/log.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import {
  describeError,
  isAlreadyExists,
  isConflict,
  isNotFound,
  isTerminating,
} from '../kubernetes/errors.ts';
import { EVENTS, VMMRQS } from '../kubernetes/resources.ts';

const MAX_MESSAGE = 1_024;
/** More than any advice has. A message that is cut still ends with its advice. */
const MAX_ADVICE = 128;
const ATTEMPTS = 4;

/** What reports are written with. A report that cannot be written is logged, and stops nothing. */
export interface Reporter {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
}

/** Writes Kubernetes Events, in parallel. An existing one is not written again, unless it carries a verdict. */
export async function writeEvents(
  { cluster, clock, log }: Reporter,
  reports: readonly EventReport[],
): Promise<void> {
  await Promise.all(
    reports.map(async (report) => {
      try {
        await createEvent(cluster, report, clock.now());
      } catch (error) {
        log('warn', `an Event was not written: ${describeError(error)}`, { reason: report.reason });
      }
    }),
  );
}

async function createEvent(cluster: Cluster, report: EventReport, at: Date): Promise<void> {
  const { on, type, reason, key, verdict } = report;
  const now = at.toISOString();
  // The same cause gives the same name: a repeated report is refused as AlreadyExists.
  const name = `${on.name.slice(0, 200)}.${fingerprint(`${on.uid}/${reason}/${key}`)}`;
  // As Kubernetes does for what belongs to no namespace, such as a Node.
  const namespace = on.namespace ?? 'default';
  const annotations = verdict === undefined ? undefined : { [ANNOTATION.verdict]: verdict };
  const latest = { message: messageOf(report), lastTimestamp: now };
  try {
    await cluster.create(EVENTS, {
      metadata: { name, namespace, ...(annotations === undefined ? {} : { annotations }) },
      involvedObject: on,
      reason,
      type,
      count: 1,
      firstTimestamp: now,
      ...latest,
      source: { component: FIELD_MANAGER },
    });
  } catch (error) {
    if (isAlreadyExists(error)) {
      if (annotations === undefined) return;
      await cluster.patch(EVENTS, { name, namespace }, { merge: { metadata: { annotations }, ...latest } });
      return;
    }
    // The namespace may be terminating (403, NotFound of the namespace): no user is left to read the Event.
    if (!isNotFound(error) && !isTerminating(error)) throw error;
  }
}

const messageOf = ({ type, message, because }: EventReport): string =>
  type === 'Warning'
    ? withAdvice(message.slice(0, MAX_MESSAGE - MAX_ADVICE), [because])
    : message.slice(0, MAX_MESSAGE);

/**
 * Updates a VMMRQ's status to `next` of the newest version. After a conflict the status is computed again; an unchanged one is
 * not written.
 */
export async function writeVmmrqStatus(
  { cluster, log }: Reporter,
  vmmrq: Vmmrq,
  next: (newest: Vmmrq) => VmmrqStatus,
): Promise<void> {
  const { name, namespace = '' } = vmmrq.metadata;
  try {
    let newest: Vmmrq | undefined = vmmrq;
    for (let attempt = 1; newest !== undefined && attempt <= ATTEMPTS; attempt += 1) {
      newest = await tryStatus(cluster, newest, next(newest));
    }
  } catch (error) {
    if (isNotFound(error)) return;
    log('warn', `the status of a VMMRQ was not written: ${describeError(error)}`, { namespace, name });
  }
}

/** undefined: written, or nothing to write; else the newest object, to try again with. */
async function tryStatus(cluster: Cluster, vmmrq: Vmmrq, status: VmmrqStatus): Promise<Vmmrq | undefined> {
  if (isSame(status, vmmrq.status)) return undefined;
  try {
    await cluster.replace(VMMRQS, { ...vmmrq, status }, { subresource: 'status' });
    return undefined;
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
  const { name, namespace = '' } = vmmrq.metadata;
  return (await cluster.get(VMMRQS, { name, namespace })).object;
}
