import { describe, expect, test } from '@jest/globals';
import { runSettings, settingProblems } from './settings.ts';

const DEFAULT = { transferMs: undefined, sourceMs: 86_400_000, allowOverQuota: false, localMigration: false };

type Input = Parameters<typeof runSettings>[0];

describe('runSettings', () => {
  test.each<[string, Input, Partial<typeof DEFAULT> | { transferMs: number }]>([
    ['none', { source: undefined, destination: undefined }, {}],
    ['hours', { source: {}, destination: { sourceDeadline: '2h' } }, { sourceMs: 7_200_000 }],
    ['minutes', { source: { transferDeadline: '90m' }, destination: {} }, { transferMs: 5_400_000 }],
    [
      'both: the destination counts',
      { source: { transferDeadline: '1h' }, destination: { transferDeadline: '30s' } },
      { transferMs: 30_000 },
    ],
    ['no duration', { source: {}, destination: { transferDeadline: '-1h', sourceDeadline: '1 day' } }, {}],
    ['over its quota', { source: {}, destination: { allowOverQuota: 'true' } }, { allowOverQuota: true }],
    ['over a quota that is not the source’s', { source: { allowOverQuota: 'true' }, destination: {} }, {}],
    ['once more there', { source: {}, destination: { localMigration: 'true' } }, { localMigration: true }],
    ['once more, by the source’s', { source: { localMigration: 'true' }, destination: {} }, {}],
  ])('%s', (_, input, want) => {
    expect(runSettings(input)).toEqual({ ...DEFAULT, ...want });
  });
});

test.each<[Record<string, string> | undefined, string[]]>([
  [undefined, []],
  [{ transferDeadline: '2h', sourceDeadline: '90s', allowOverQuota: 'false', submariner: 'false' }, []],
  [{ vddkInitImage: 'for other types of plans' }, []],
  [{ transferDeadline: '2 hours' }, ['transferDeadline is a time such as 90s, 30m or 2h']],
  [
    { sourceDeadline: '', allowOverQuota: 'yes', localMigration: 'once' },
    [
      'sourceDeadline is a time such as 90s, 30m or 2h',
      'allowOverQuota is "true" or "false"',
      'localMigration is "true" or "false"',
    ],
  ],
  [
    { submariner: 'true' },
    ['submariner is not supported: the synchronization controllers must reach each other without it'],
  ],
])('settings %j: what is wrong with them', (settings, wanted) => {
  expect(settingProblems(settings)).toEqual(wanted);
});
