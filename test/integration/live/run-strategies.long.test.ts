import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VmOptions } from '../../cluster/kubevirt/objects/objects.ts';
import { conditionsOf } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';
import { untilMoved } from '../../support/live/seen.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

test.each<{ runStrategy: NonNullable<VmOptions['runStrategy']>; there: string }>([
  { runStrategy: 'Always', there: 'Always' },
  { runStrategy: 'RerunOnFailure', there: 'RerunOnFailure' },
  { runStrategy: 'Once', there: 'Once' },
  { runStrategy: 'Manual', there: 'Manual' },
  { runStrategy: 'running', there: 'Always' },
])(
  'a VM with strategy $runStrategy is Halted on the source, without a VMI, and $there on the target, where it runs',
  async ({ runStrategy, there }) => {
    await crossings.within(`strategy-${runStrategy.toLowerCase()}`, async (crossing) => {
      await crossing.createVm('web', { runStrategy });
      await crossing.createPlan([{ name: 'web' }]);
      await crossing.createMigrationAs();
      expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
      expect(await untilMoved(crossing)).toEqual({
        source: { runStrategy: 'Halted', shown: 'Stopped', vmis: 0, vmims: 0 },
        target: { runStrategy: there, shown: 'Running', vmis: 1, vmims: 0 },
      });
      expect(await crossing.finalizers()).toEqual([]);
    });
  },
);
