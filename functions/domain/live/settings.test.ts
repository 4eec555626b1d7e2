import { describe, expect, test } from '@jest/globals';
import { runSettings } from './settings.ts';

const DEFAULT = { transferMs: undefined, sourceMs: 86_400_000, allowOverQuota: false };

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
  ])('%s', (_, input, want) => {
    expect(runSettings(input)).toEqual({ ...DEFAULT, ...want });
  });
});
