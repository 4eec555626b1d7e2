import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { LIVE_REASON, type LiveReason } from '../../../functions/domain/live/names.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const DOCS = 'docs/live-migration.md';
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Ends whose VM is as it was on the source, and of which the target keeps nothing. */
const BEFORE: readonly LiveReason[] = [
  ...[LIVE_REASON.userRequested, LIVE_REASON.deleted, LIVE_REASON.archived, LIVE_REASON.modified],
  ...[LIVE_REASON.recordLost, LIVE_REASON.vmInUse, LIVE_REASON.sourceGone, LIVE_REASON.sourceStopped],
  ...[LIVE_REASON.sourceEvacuating, LIVE_REASON.sourceMigrating, LIVE_REASON.refused, LIVE_REASON.hookFailed],
  LIVE_REASON.sourceSetBack,
  ...[
    LIVE_REASON.volumeFailed,
    LIVE_REASON.resourceFailed,
    LIVE_REASON.overQuota,
    LIVE_REASON.hardwareDiffers,
  ],
  ...[LIVE_REASON.vmAlreadyExists, LIVE_REASON.receiverFailed, LIVE_REASON.targetGone, LIVE_REASON.noAddress],
  ...[LIVE_REASON.transferFailed, LIVE_REASON.planNotReady],
];
/** Waits for an end that is late: what they wait for is left over. */
const LATE: readonly LiveReason[] = [
  ...[LIVE_REASON.aborting, LIVE_REASON.restoringSource, LIVE_REASON.cleaningUp],
];
/** The rows of the table in docs/live-migration.md, with the reasons that each names. */
const ROWS: readonly (readonly string[])[] = [
  [LIVE_REASON.succeeded, LIVE_REASON.hookFailed],
  [],
  [LIVE_REASON.sourceNotVerified, LIVE_REASON.refused],
  [LIVE_REASON.targetNotRunning],
  [LIVE_REASON.cutOverUndecided],
  [LIVE_REASON.sourceDownUndecided],
  [LIVE_REASON.sourceGone],
  ['status.leftovers'],
  [LIVE_REASON.givenUp],
];

const CODE = globSync('functions/{live,domain/live}/**/*.ts', { cwd: ROOT, exclude: ['**/*.test.ts'] });
const sources = CODE.map((file) => ({ file, text: read(file) }));

type Key = keyof typeof LIVE_REASON;
const reasonsIn = (text: string, pattern: RegExp): LiveReason[] =>
  [...text.matchAll(pattern)].map(([, key]) => LIVE_REASON[key as Key]);

/** How code ends a run: at once, or by a wait that is late. The last reason of a waitUntil is that of its end. */
const ENDING: readonly RegExp[] = [
  /\bfail\(\s*LIVE_REASON\.(\w+)/g,
  /\bended\(\s*'\w+', \{\s*reason: LIVE_REASON\.(\w+)/g,
  /\bwaitAtMost\([^;]*?\breason: LIVE_REASON\.(\w+)/g,
  /\bwaitUntil\([^;]*LIVE_REASON\.(\w+),?\s*\);/g,
  /\bas: 'Failed',\s*reason: LIVE_REASON\.(\w+)/g,
];
/** All its reasons are why runs are stopped. */
const STOPS = 'functions/live/run/stop.ts';

test('every end of a run is in the table of ends', () => {
  const ends = [
    ...sources.flatMap(({ text }) => ENDING.flatMap((pattern) => reasonsIn(text, pattern))),
    ...reasonsIn(read(STOPS), /LIVE_REASON\.(\w+)/g),
  ];
  // A pattern that finds nothing has missed a rename.
  const isBlind = (pattern: RegExp): boolean =>
    sources.every(({ text }) => reasonsIn(text, pattern).length === 0);
  expect(ENDING.filter(isBlind)).toEqual([]);
  const known: readonly string[] = [...BEFORE, ...LATE, ...ROWS.flat()];
  expect([...new Set(ends)].filter((reason) => !known.includes(reason))).toEqual([]);
});

test('the table of docs/live-migration.md has these rows', () => {
  const table = /^\| end .*\n\| -.*\n((?:\|.*\n)+)/m.exec(read(DOCS))?.[1] ?? '';
  const cells = table
    .trim()
    .split('\n')
    .map((row) => row.split('|')[1] ?? '');
  expect(cells.map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name))).toEqual(ROWS);
});

test('each reason that the docs name is one', () => {
  const known = new Set<string>(Object.values(LIVE_REASON));
  const named = [...read(DOCS).matchAll(/`([A-Z][a-z]+[A-Z][A-Za-z]+)`/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !known.has(name))).toEqual(['DecentralizedLiveMigration']);
});

test('no reason is without use', () => {
  const lists = ['functions/domain/live/names.ts', 'functions/live/status/waiting.ts'];
  const text = sources
    .filter(({ file }) => !lists.includes(file))
    .map((source) => source.text)
    .join('\n');
  const unused = Object.keys(LIVE_REASON).filter((key) => !new RegExp(`LIVE_REASON\\.${key}\\b`).test(text));
  expect(unused).toEqual([]);
});
