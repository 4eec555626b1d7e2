import type { Run } from '../demo/traces.ts';
import type { Course } from './migration.ts';
import { between } from './moments.ts';
import type { Detail } from './report.ts';
import { countsOf, type ApiRequest } from './requests.ts';
import { median } from './statistics.ts';

interface Entry {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly text: string;
}

/** Where the time of some releases goes, and their requests: of the one that took as long as half of them. */
export function detailsOf(what: string, courses: readonly Course[]): Detail[] {
  const took = ({ moments }: Course): number => between(moments, 'blocked', 'unlocked');
  const middle = median(courses.map(took));
  const distance = (course: Course): number => Math.abs(took(course) - middle);
  const [typical] = courses.toSorted((one, other) => distance(one) - distance(other));
  return [
    { heading: `${what}, in milliseconds from when it is blocked`, lines: timelineOf(typical) },
    { heading: `requests of ${what}`, lines: countLines(typical) },
  ];
}

/** Everything that happened, in order. Runs are told when they begin, requests when they come; both with how long they took. */
function timelineOf(course: Course | undefined): string[] {
  if (course === undefined) return [];
  const { moments, runs, requests } = course;
  const { blocked = NaN, succeeded = NaN } = moments;
  const entries = [
    ...Object.entries(moments).map(([name, at]: [string, number | undefined]) => ({
      at: at ?? NaN,
      text: `── ${name}`,
    })),
    ...runs.map(runEntry),
    ...requests.map(requestEntry),
  ];
  return entries
    .filter(({ at }) => at >= blocked - BEFORE_MS && at <= succeeded)
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, text }) => `${(at - blocked).toFixed(1).padStart(8)}  ${text}`);
}

const BEFORE_MS = 5;

function runEntry({ at, service, eventType = '', start, heldMs, ms, status }: Run): Entry {
  const held = heldMs >= 1 ? `, held ${heldMs.toFixed(0)} ms` : '';
  const event = eventType.split('.').slice(-2).join('.');
  return { at, text: `${service} ← ${event}: ${ms.toFixed(1)} ms (${start}${held}) → ${status}` };
}

function requestEntry({ at, account, what, namespace, code, ms }: ApiRequest): Entry {
  const where = namespace === '' ? ' of the whole cluster' : '';
  return { at, text: `    ${account} ${what}${where} → ${code}: ${ms.toFixed(1)} ms` };
}

/** "   3  mtq-raise get namespaces" */
export function countLines(course: Course | undefined): string[] {
  return [...countsOf(course?.requests ?? [])].map(
    ([what, count]) => `${String(count).padStart(4)}  ${what}`,
  );
}
