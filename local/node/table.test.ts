import { expect, test } from '@jest/globals';
import { tableOf } from './table.ts';

test('in columns, the first to be ready first', () => {
  const rows = [
    { pod: 'lock', readyAfterMs: 12_340, uid: 65_532, rssMiB: 67.4, answer: '204' },
    { pod: 'mtq-guard-1', readyAfterMs: 4_000, uid: 65_532, rssMiB: 75.6, answer: 'reviews' },
  ];
  expect(tableOf(rows)).toBe(
    [
      'pod          ready after  uid    RSS     event',
      'mtq-guard-1  4.0 s        65532  76 MiB  reviews',
      'lock         12.3 s       65532  67 MiB  204',
    ].join('\n'),
  );
});
