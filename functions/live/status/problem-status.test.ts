import { expect, test } from '@jest/globals';
import { NOW } from '../../../test/support/builders/object.ts';
import { critical, type Finding } from '../../domain/live/conditions.ts';
import type { MigrationStatus } from '../../domain/live/forklift.ts';
import { problemStatus } from './problem-status.ts';

const NOT_READY = critical('PlanNotReady', 'NotFound', { message: 'Not ready.', suggestion: 'Look.' });
const NOT_ALLOWED = critical('NotAllowed', 'Forbidden', { message: 'Not allowed.' });

const QUEUED: Finding = { type: 'Waiting', category: 'Advisory', message: 'Waiting.' };

type Found = readonly [minute: number, finding: Finding];

/** Returns the Migration's conditions after these findings, minutes after NOW. */
function after(found: readonly Found[]): string {
  const status = found.reduce<MigrationStatus | undefined>(
    (before, [minute, finding]) => problemStatus(before, finding, NOW + minute * 60_000),
    undefined,
  );
  const types = (status?.conditions ?? []).map(({ type }) => type);
  return [...types, status?.completed ?? '', status?.message ?? ''].filter((text) => text !== '').join(' ');
}

const LATE = '2026-11-21T06:00:00Z too late: Not ready. Look.';

test.each<[string, readonly Found[]]>([
  ['PlanNotReady', [[0, NOT_READY]]],
  [
    'PlanNotReady',
    [
      [0, NOT_READY],
      [59, NOT_READY],
    ],
  ],
  [
    `PlanNotReady Failed ${LATE}`,
    [
      [0, NOT_READY],
      [59, NOT_READY],
      [60, NOT_READY],
    ],
  ],
  [
    'NotAllowed',
    [
      [0, NOT_READY],
      [59, NOT_ALLOWED],
      [61, NOT_ALLOWED],
    ],
  ],
  [
    'Waiting',
    [
      [0, QUEUED],
      [600, QUEUED],
    ],
  ],
  [
    'PlanNotReady',
    [
      [0, QUEUED],
      [100, NOT_READY],
      [159, NOT_READY],
    ],
  ],
  [
    `Failed PlanNotReady ${LATE}`,
    [
      [0, NOT_READY],
      [60, NOT_READY],
      [90, NOT_READY],
    ],
  ],
])('a Migration that does not begin shows %s', (wanted, found) => {
  expect(after(found)).toBe(wanted);
});
