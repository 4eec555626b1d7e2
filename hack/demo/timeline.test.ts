import { expect, test } from '@jest/globals';
import type { TimelineEvent } from './timeline-events/timeline-event.ts';
import { coloursFor } from './colours.ts';
import { renderTimeline } from './renderer.ts';
import { quietRuns, timelineOf, windowsOf, type Material } from './timeline.ts';
import { Traces, type Decision, type Run } from './traces.ts';

const makeEvent = (
  more: Pick<TimelineEvent, 'at' | 'version' | 'what'> & Partial<TimelineEvent>,
): TimelineEvent => ({
  namespace: 'red',
  text: more.what,
  by: 'lock',
  ...more,
});

const makeRun = (more: Partial<Run>): Run => ({
  kind: 'request',
  at: 0,
  service: 'lock',
  method: 'POST',
  path: '/',
  eventType: 'x',
  eventId: 'e',
  start: 'warm',
  heldMs: 0,
  ms: 10,
  status: 200,
  ...more,
});

const makeDecision = (at: number, message: string): Decision => ({
  at,
  message,
  step: 'feasibility',
  eventId: 'e',
  namespace: 'red',
  reason: 'FitsWithRaise',
  verdict: undefined,
});

const makeMaterial = (more: Partial<Material>): Material => ({
  events: [],
  decisions: [],
  starts: [],
  traces: new Traces(),
  writerOf: () => undefined,
  ...more,
});

test("the lines have etcd's order, also with a slow watch", () => {
  const events = [
    makeEvent({ at: 40, version: 3n, what: 'admitted' }),
    makeEvent({ at: 45, version: 2n, what: 'raised' }),
    makeEvent({ at: 20, version: 1n, what: 'locked' }),
  ];

  const lines = timelineOf(makeMaterial({ events }));

  expect(lines.map(({ what, at }) => [what, at])).toEqual([
    ['locked', 20],
    ['raised', 40],
    ['admitted', 40],
  ]);
});

test('the timeline shows only new verdicts', () => {
  const decisions = [makeDecision(1, 'fits'), makeDecision(2, 'fits'), makeDecision(3, 'does not')];

  expect(timelineOf(makeMaterial({ decisions })).map(({ text }) => text)).toEqual(['fits', 'does not']);
});

test('a line has its writer and its run, and runs without a line are quiet', () => {
  const traces = new Traces();
  const [mine, other] = [makeRun({ at: 100, ms: 50, start: 'cold' }), makeRun({ at: 120, eventId: 'f' })];
  traces.runs.push(mine, other, makeRun({ at: 90, ms: 80, eventId: 'of another namespace' }));
  for (const id of ['e', 'f']) traces.hops.push({ id, namespace: 'red' } as Traces['hops'][number]);
  const events = [makeEvent({ at: 140, version: 1n, what: 'locked', by: 'somebody' })];

  const [line] = timelineOf(makeMaterial({ traces, events, writerOf: () => 'lock' }));

  expect(line).toMatchObject({ actor: 'lock', run: { start: 'cold', at: 100 } });
  expect(quietRuns(line === undefined ? [] : [line], [mine, other])).toBe(1);
});

test('the lock window is a bar, and only terminals get colours', () => {
  const at = { locked: 25, raised: 50, lowered: 75, unlocked: 100 } as const;
  const events = Object.entries(at).map(([what, time], index) =>
    makeEvent({ at: time, version: BigInt(index), what: what as keyof typeof at }),
  );
  const lines = timelineOf(makeMaterial({ events }));
  const windows = windowsOf(lines, 100);
  const timeline = { namespaces: ['red'], lines, windows, blockedAt: 0, endedAt: 200, quiet: 2 };
  const out = { isTTY: false, write: () => undefined };

  const output = renderTimeline(timeline, { colours: coloursFor(out), width: 100 });

  expect(windows).toEqual([{ namespace: 'red', from: 25, to: 100, raised: { from: 50, to: 75 } }]);
  expect(output).toContain(
    `${'·'.repeat(6)}${'▒'.repeat(6)}${'█'.repeat(6)}${'▒'.repeat(6)}${'·'.repeat(24)}`,
  );
  expect(output).toContain('locked 75 ms (25 → 100), █ raised 25');
  expect(output).toContain('+ 2 runs that found nothing to do');
  expect(output).not.toContain('\u001B');
  expect(
    renderTimeline(timeline, { colours: coloursFor({ ...out, isTTY: true }, {}), width: 100 }),
  ).toContain('\u001B[36m');
});
