import type { Clock } from '../runtime/clock.ts';
import { ANNOTATION, FIELD_MANAGER } from '../domain/names.ts';
import { isSame } from '../domain/same.ts';
import { isClusterWide } from '../domain/vmmrq-name.ts';
import type { EventReport } from '../domain/verdict/report.ts';
import { eventMessage, eventName, unwritten } from '../domain/verdict/written.ts';
import type { KubernetesEvent, Vmmrq, VmmrqStatus } from '../domain/objects.ts';
import type { Log } from '../runtime/log.ts';
import type { Cluster, ResourceType } from '../kubernetes/cluster.ts';
import {
  describeError,
  isAlreadyExists,
  isConflict,
  isNotFound,
  isTerminating,
} from '../kubernetes/errors.ts';
import { CLUSTER_VMMRQS, EVENTS, VMMRQS } from '../kubernetes/resources.ts';
import { inGroups } from './in-groups.ts';
import { LISTED_OWN_EVENTS, OWN_EVENTS } from './listed-events.ts';

const ATTEMPTS = 4;

/** What reports are written with. A report that cannot be written is logged, and stops nothing. */
export interface Reporter {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
}

/** Writes Events like `writeEvents`, without the written ones. One list costs less than to try each while many migrations wait. */
export async function writeNewEvents(
  reporter: Reporter,
  namespace: string,
  reports: readonly EventReport[],
): Promise<void> {
  if (reports.length === 0) return;
  const events = await readOwn(reporter, namespace);
  const names = new Set(events.map(({ metadata }) => metadata.name));
  const due = unwritten(reports, events, reporter.clock.now());
  await writeEach(reporter, due, (report, at) =>
    report.isUpdated === true && names.has(eventName(report))
      ? updateEvent(reporter.cluster, report, at)
      : createEvent(reporter.cluster, report, at),
  );
}

async function readOwn({ cluster, log }: Reporter, namespace: string): Promise<KubernetesEvent[]> {
  try {
    return (await cluster.list(LISTED_OWN_EVENTS, { ...OWN_EVENTS, namespace })).items;
  } catch (error) {
    log('warn', `our Events were not listed: ${describeError(error)}`, { namespace });
    return [];
  }
}

/** Writes Kubernetes Events, in groups. An existing one is written again only where the report says so. */
export const writeEvents = (reporter: Reporter, reports: readonly EventReport[]): Promise<void> =>
  writeEach(reporter, reports, (report, at) => createEvent(reporter.cluster, report, at));

async function writeEach(
  { clock, log }: Reporter,
  reports: readonly EventReport[],
  write: (report: EventReport, at: Date) => Promise<void>,
): Promise<void> {
  await inGroups(reports, async (report) => {
    try {
      await write(report, clock.now());
    } catch (error) {
      log('warn', `an Event was not written: ${describeError(error)}`, { reason: report.reason });
    }
  });
}

async function createEvent(cluster: Cluster, report: EventReport, at: Date): Promise<void> {
  const { metadata, ...content } = contentOf(report, at);
  try {
    await cluster.create(EVENTS, {
      metadata: { ...addressOf(report), ...metadata },
      ...content,
      count: 1,
      firstTimestamp: content.lastTimestamp,
    });
  } catch (error) {
    // A repeated report: it has the same name.
    if (isAlreadyExists(error))
      return report.isUpdated === true ? updateEvent(cluster, report, at) : undefined;
    // The namespace may be terminating (403, NotFound of the namespace): no user is left to read the Event.
    if (!isNotFound(error) && !isTerminating(error)) throw error;
  }
}

/** Updates an Event. If it has expired meanwhile, the next look creates another. */
async function updateEvent(cluster: Cluster, report: EventReport, at: Date): Promise<void> {
  try {
    await cluster.patch(EVENTS, addressOf(report), { merge: contentOf(report, at) });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Address of an Event: in namespace `default` for an object without a namespace, such as a Node, as in Kubernetes. */
const addressOf = (report: EventReport): { name: string; namespace: string } => ({
  name: eventName(report),
  namespace: report.on.namespace ?? 'default',
});

/** A repeated report writes all of it again: a tenant may have put another Event under its name. */
const contentOf = (
  report: EventReport,
  at: Date,
): Omit<KubernetesEvent, 'metadata'> & {
  readonly metadata: { readonly annotations?: Record<string, string> };
  readonly lastTimestamp: string;
} => ({
  metadata: report.verdict === undefined ? {} : { annotations: { [ANNOTATION.verdict]: report.verdict } },
  involvedObject: report.on,
  reason: report.reason,
  type: report.type,
  message: eventMessage(report),
  lastTimestamp: at.toISOString(),
  source: { component: FIELD_MANAGER },
});

/**
 * Updates the status of a VMMRQ of either kind to `next` of the newest version. After a conflict the status is computed again; an
 * unchanged one is not written. The report is dropped for another VMMRQ of the same name, where `next` is undefined, and after ATTEMPTS
 * conflicts: many namespaces may write to a cluster-wide VMMRQ.
 */
export async function writeVmmrqStatus(
  { cluster, log }: Reporter,
  vmmrq: Vmmrq,
  next: (newest: Vmmrq) => VmmrqStatus | undefined,
): Promise<void> {
  const { name, namespace, uid } = vmmrq.metadata;
  const at = { name, ...(namespace === undefined ? {} : { namespace }) };
  try {
    let newest = vmmrq;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      if (attempt > 1) newest = (await cluster.get(typeOf(vmmrq), at)).object;
      const status = newest.metadata.uid === uid ? next(newest) : undefined;
      if (status === undefined || (await isWritten(cluster, newest, status))) return;
    }
  } catch (error) {
    if (isNotFound(error)) return;
    log('warn', `the status of a VMMRQ was not written: ${describeError(error)}`, at);
  }
}

const typeOf = (vmmrq: Vmmrq): ResourceType<Vmmrq> => (isClusterWide(vmmrq) ? CLUSTER_VMMRQS : VMMRQS);

/** Returns false if another writer was first. */
async function isWritten(cluster: Cluster, vmmrq: Vmmrq, status: VmmrqStatus): Promise<boolean> {
  if (isSame(status, vmmrq.status)) return true;
  try {
    await cluster.replace(typeOf(vmmrq), { ...vmmrq, status }, { subresource: 'status' });
    return true;
  } catch (error) {
    if (!isConflict(error)) throw error;
    return false;
  }
}
