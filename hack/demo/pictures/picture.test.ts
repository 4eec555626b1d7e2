import { expect, test } from '@jest/globals';
import { renderPicture, type PictureEvent } from './picture.ts';
import { THEMES } from './theme.ts';

const REFUSED_AT = 1_700_000_000_000;

const makeEvent = (what: string, ms: number, more: Partial<PictureEvent> = {}): PictureEvent => ({
  what,
  at: REFUSED_AT + ms,
  text: what,
  ...more,
});

const makeRun = (service: string, ms: number, lasts: number): { run: PictureEvent['run'] & object } => ({
  run: { service, at: REFUSED_AT + ms, ms: lasts, start: 'warm' },
});

const RAISE = 'raises compute: requests.cpu 1500m → 2010m, requests.memory 2Gi → 2825657728';

const CYCLE: readonly PictureEvent[] = [
  makeEvent('asked', -60),
  makeEvent('blocked', 0),
  makeEvent('verdict', 50, makeRun('feasibility', 20, 30)),
  makeEvent('locked', 189, makeRun('lock', 128, 70)),
  makeEvent('raised', 504, { text: RAISE, ...makeRun('raise', 210, 300) }),
  makeEvent('admitted', 563),
  makeEvent('lowered', 771, makeRun('lower', 610, 166)),
  makeEvent('unlocked', 927, makeRun('unlock', 875, 60)),
  makeEvent('succeeded', 2_099),
];

test('the description lists every key moment in order, and the amounts', () => {
  const [, description = ''] = /<desc [^>]*>(.*)<\/desc>/.exec(renderPicture(CYCLE, 'light')) ?? [];

  expect(description).toBe(
    'A timeline: migration refused: quota full at 0 ms; namespace locked at 189 ms; quota raised at 504 ms; ' +
      'target pod admitted at 563 ms; quota restored at 771 ms; namespace unlocked at 927 ms. ' +
      'The raise: requests.cpu 1500m → 2010m, requests.memory 2Gi → 2.63Gi.',
  );
});

test('the bar of each function is as long as its run', () => {
  const svg = renderPicture(CYCLE, 'light');
  const bars = [...svg.matchAll(/width="([\d.]+)" height="12" rx="2"/g)].map(([, width]) => Number(width));
  const perMs = (bars[2] ?? 0) / 300;

  expect(bars.map((width) => Math.round(width / perMs))).toEqual([30, 70, 300, 166, 60]);
});

test('no line of a later moment crosses the label of an earlier one', () => {
  const together = CYCLE.map((event) => (event.what === 'admitted' ? makeEvent('admitted', 505) : event));
  const labels = [
    ...renderPicture(together, 'light').matchAll(/<text x="([\d.]+)" y="(\d+)"[^>]*>\d+ ms {2}</g),
  ];
  const [, , raised = [], admitted = []] = labels;

  expect(labels).toHaveLength(6);
  expect(Number(admitted[1]) - Number(raised[1])).toBeLessThan(2);
  expect(Number(admitted[2])).toBeGreaterThan(Number(raised[2]));
});

test('the right edge cuts a longer run', () => {
  const long = CYCLE.map((event) =>
    event.what === 'unlocked' ? { ...event, ...makeRun('unlock', 875, 5_000) } : event,
  );
  const boxes = renderPicture(long, 'light').matchAll(/<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/g);
  const ends = [...boxes].slice(1).map(([, x, width]) => Number(x) + Number(width));

  expect(Math.round(Math.max(...ends))).toBe(844);
  expect(ends).toHaveLength(3 * 2 + 5);
});

test('the themes differ only in colours, and each theme is the same every time', () => {
  const [light = '', dark = ''] = THEMES.map((theme) => renderPicture(CYCLE, theme));
  const shapesOf = (svg: string): string => svg.replaceAll(/#[0-9a-f]{6}/g, '#');

  expect(light).not.toBe(dark);
  expect(shapesOf(light)).toBe(shapesOf(dark));
  expect(renderPicture(CYCLE, 'light')).toBe(light);
});

test('a cycle without one of the key moments throws', () => {
  const cancelled = CYCLE.filter(({ what }) => what !== 'admitted');

  expect(() => renderPicture(cancelled, 'light')).toThrow('no event of the kind admitted');
});
