import { expect, test } from '@jest/globals';
import { aProgress, aStatus } from '../../../test/support/builders/maintenance.ts';
import type { MaintenanceProgress } from '../../../functions/domain/progress/progress-object.ts';
import { ofProgress } from './progress.ts';

const VERSIONS: readonly [MaintenanceProgress | undefined, string | undefined][] = [
  [aProgress('Drain'), undefined],
  [
    aProgress('Drain', aStatus([1, 2], [1, 2], { message: 'none yet' })),
    'writes mprog drain-12345678-1: Running 0/2, none yet',
  ],
  [aProgress('Drain', aStatus([1, 2], [1, 2], { message: 'none yet', sequence: 2 })), undefined],
  [
    aProgress('Drain', aStatus([1, 2], [], { state: 'Completed', message: 'all left' })),
    'writes mprog drain-12345678-1: Completed 2/2, all left',
  ],
  [undefined, undefined],
];

test('each step of a drain is one line, and a write that says nothing new is none', () => {
  const events = VERSIONS.map(([after], index) => ofProgress({ before: VERSIONS[index - 1]?.[0], after }));
  expect(events.map(([event]) => event?.text)).toEqual(VERSIONS.map(([, want]) => want));
});
