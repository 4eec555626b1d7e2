import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { conditionsOf } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';
import { actPastCutOver } from '../../support/live/moments.ts';
import { labelled, untilMoved } from '../../support/live/seen.ts';
import { STOPS, untilReleased } from '../../support/live/stops.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

test.each(STOPS)(
  '$name past the cut-over of a VM: it runs on the target, is off on the source, and nothing is held',
  async (how) => {
    await crossings.within(`past-${how.name}`, async (crossing) => {
      await actPastCutOver(crossing, async () => {
        await how.stop(crossing);
        // As often as a run looks while it could go back.
        for (let resyncs = 0; resyncs < 3; resyncs += 1) await crossing.resync();
        expect(await labelled(crossing)).toContain('VirtualMachine web');
      });
      const migration = await untilReleased(crossing, how);
      // A Migration goes with its Plan.
      if (migration !== undefined) expect(conditionsOf(migration)).toContain('Succeeded');
      expect(await untilMoved(crossing)).toEqual({
        source: { runStrategy: 'Halted', shown: 'Stopped', vmis: 0, vmims: 0 },
        target: { runStrategy: 'Always', shown: 'Running', vmis: 1, vmims: 0 },
      });
    });
  },
);
