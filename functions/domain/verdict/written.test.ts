import { expect, test } from '@jest/globals';
import { anEventReport } from '../../../test/support/builders/event-report.ts';
import { ANNOTATION, EVENT_REASON, REASON } from '../names.ts';
import type { KubernetesEvent } from '../objects.ts';
import type { EventReport } from './report.ts';
import { eventMessage, eventName, unwritten } from './written.ts';

const NOW = new Date('2026-11-26T12:00:00Z');
const MINUTE_MS = 60_000;

const REPORT = anEventReport({ isUpdated: true });
const WITH_VERDICT: EventReport = { ...REPORT, verdict: '{"reason":"NotEnough"}' };

/** An Event of the report, as the API server stores it. */
const eventOf = (report: EventReport, resourceVersion = '7', ageMs = MINUTE_MS): KubernetesEvent => ({
  metadata: {
    namespace: 'tenant',
    name: eventName(report),
    uid: `uid-of-${eventName(report)}`,
    resourceVersion,
    creationTimestamp: '',
    ...(report.verdict === undefined ? {} : { annotations: { [ANNOTATION.verdict]: report.verdict } }),
  },
  involvedObject: { uid: report.on.uid },
  message: eventMessage(report),
  lastTimestamp: new Date(NOW.getTime() - ageMs).toISOString(),
});

const OTHER: EventReport = {
  ...WITH_VERDICT,
  reason: EVENT_REASON.migrationBlocked,
  verdict: '{"reason":"Skipped"}',
};

const AFTER: EventReport = {
  ...WITH_VERDICT,
  reason: EVENT_REASON.migrationBlocked,
  because: REASON.afterOthers,
  key: REASON.afterOthers,
};

test.each<
  [string, { readonly report: EventReport; readonly events: KubernetesEvent[]; readonly want: boolean }]
>([
  ['no Event at all', { report: REPORT, events: [], want: true }],
  ['it is shown', { report: REPORT, events: [eventOf(REPORT)], want: false }],
  [
    'another text',
    { report: REPORT, events: [eventOf({ ...REPORT, message: 'quota lacks pods=2' })], want: true },
  ],
  [
    'another text, of one that waits for others',
    {
      report: AFTER,
      events: [eventOf({ ...AFTER, message: 'it lacks 2', verdict: '{"reason":"AfterOthers"}' })],
      want: false,
    },
  ],
  [
    'another text, of one that waits for others, which a later Event denies',
    { report: AFTER, events: [eventOf(AFTER), eventOf(OTHER, '10')], want: true },
  ],
  [
    'only another cause is shown',
    { report: REPORT, events: [eventOf({ ...REPORT, key: 'uid-of-mig1' })], want: true },
  ],
  ['nine minutes old', { report: REPORT, events: [eventOf(REPORT, '7', 9 * MINUTE_MS)], want: false }],
  [
    'ten minutes old: it expires after an hour',
    { report: REPORT, events: [eventOf(REPORT, '7', 10 * MINUTE_MS)], want: true },
  ],
  [
    'from a clock that is ahead',
    { report: REPORT, events: [eventOf(REPORT, '7', -20 * MINUTE_MS)], want: true },
  ],
  ['without a time', { report: REPORT, events: [{ ...eventOf(REPORT), lastTimestamp: null }], want: true }],
  ['the verdict is shown', { report: WITH_VERDICT, events: [eventOf(WITH_VERDICT)], want: false }],
  ['without the verdict', { report: WITH_VERDICT, events: [eventOf(REPORT)], want: true }],
  [
    'with another verdict',
    { report: WITH_VERDICT, events: [eventOf({ ...WITH_VERDICT, verdict: '{"reason":"x"}' })], want: true },
  ],
  [
    'a later Event has another verdict',
    { report: WITH_VERDICT, events: [eventOf(WITH_VERDICT), eventOf(OTHER, '10')], want: true },
  ],
  [
    'an earlier one has another',
    { report: WITH_VERDICT, events: [eventOf(OTHER, '6'), eventOf(WITH_VERDICT)], want: false },
  ],
])('a report is written where needed: %s', (_, { report, events, want }) => {
  expect(unwritten([report], events, NOW)).toEqual(want ? [report] : []);
});

test.each([
  ['is long', 'a'.repeat(250)],
  ['is cut after a dot', `${'a'.repeat(199)}.${'b'.repeat(20)}`],
  ['is cut after two hyphens', `${'a'.repeat(198)}--${'b'.repeat(20)}`],
])('the name of an Event about an object whose name %s is a DNS subdomain', (_, name) => {
  const label = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
  expect(eventName({ ...REPORT, on: { ...REPORT.on, name } })).toMatch(
    new RegExp(String.raw`^(?=.{1,253}$)${label}(?:\.${label})*$`),
  );
});
