import { shown } from '../foreign-text.ts';
import { withAdvice } from '../advice.ts';
import { fingerprint } from '../fingerprint.ts';
import { ANNOTATION, REASON } from '../names.ts';
import type { KubernetesEvent } from '../objects.ts';
import { newestVerdicts, verdictKey } from '../progress/known-verdict.ts';
import type { EventReport } from './report.ts';

const MAX_MESSAGE = 1_024;
/** More than any advice has. A message that is cut still ends with its advice. */
const MAX_ADVICE = 128;

/** An Event expires an hour after its last write (kube-apiserver's default), so an older one is renewed (milliseconds). */
const RENEW_MS = 600_000;

/** The same cause gives the same name. A name that is cut must still end with a letter or a digit (RFC 1123). */
export const eventName = ({ on, reason, key }: EventReport): string =>
  `${on.name.slice(0, 200).replace(/[-.]+$/, '')}.${fingerprint(`${on.uid}/${reason}/${key}`)}`;

/** Cuts a message to 1,024 characters, as the API server allows. */
export const eventMessage = ({ type, message, because }: EventReport): string =>
  type === 'Warning'
    ? withAdvice(shown(message, MAX_MESSAGE - MAX_ADVICE), [because])
    : shown(message, MAX_MESSAGE);

/** Reasons to wait for the other migrations of the namespace: what a quota lacks meanwhile changes with each pod, and says nothing new. */
const IN_TURN: readonly string[] = [REASON.afterOthers, REASON.parallelLimit];

/**
 * The reports that these Events do not show. A verdict must be shown by the newest Event about its migration: an older one with
 * the same text is outdated. Of other reports the text counts. `now`: of the clock that Events are written by.
 */
export function unwritten(
  reports: readonly EventReport[],
  events: readonly KubernetesEvent[],
  now: Date,
): EventReport[] {
  const byName = new Map(events.map((event) => [event.metadata.name, event]));
  const newest = newestVerdicts(events);
  return reports.filter((report) => {
    const event = byName.get(eventName(report));
    if (event === undefined || !isShownBy(event, report)) return true;
    // Also one from a clock that is ahead is renewed.
    const isFresh = Math.abs(now.getTime() - Date.parse(event.lastTimestamp ?? '')) < RENEW_MS;
    if (!isFresh) return true;
    if (report.verdict === undefined) return false;
    const { version } = newest.get(verdictKey(report.on.namespace, report.on.uid)) ?? {};
    return version !== event.metadata.resourceVersion;
  });
}

/** Whether the Event, which has the report's name and so its reason, has its texts too. */
function isShownBy(event: KubernetesEvent, report: EventReport): boolean {
  const verdict = event.metadata.annotations?.[ANNOTATION.verdict];
  if (IN_TURN.includes(report.because)) return (verdict === undefined) === (report.verdict === undefined);
  return (
    event.message === eventMessage(report) && (report.verdict === undefined || verdict === report.verdict)
  );
}
