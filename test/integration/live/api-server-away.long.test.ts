import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIVE_REASON } from '../../../functions/domain/live/names.ts';
import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import { conditionsOf, type Crossing } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';
import { untilCopied, untilPastCutOver } from '../../support/live/moments.ts';
import { untilMoved } from '../../support/live/seen.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

/** Steps that are held, so that the VM is at a known place while the API server is away. */
const MOMENTS = {
  'while its memory is copied': {
    held: 'transfer',
    untilThere: untilCopied,
  },
  'past its cut-over': {
    held: 'complete',
    untilThere: untilPastCutOver,
  },
} as const;

/** What can be seen while it is away. */
async function expectUnknown(crossing: Crossing, isHubAway: boolean): Promise<void> {
  if (isHubAway) {
    // The Broker brings the event again.
    expect(await crossing.resync()).toMatchObject({ statusCode: 503 });
    return;
  }
  const { status } = await crossing.until('nothing is known of the VM', ({ status: seen }) =>
    JSON.stringify(seen?.vms ?? []).includes(LIVE_REASON.clusterUnknown),
  );
  expect(status?.completed).toBeUndefined();
}

test.each<{ away: Side; hub: Side; moment: keyof typeof MOMENTS; name: string }>([
  { away: 'source', hub: 'target', moment: 'while its memory is copied', name: 'source-copied' },
  { away: 'source', hub: 'target', moment: 'past its cut-over', name: 'source-past' },
  { away: 'target', hub: 'source', moment: 'while its memory is copied', name: 'target-copied' },
  { away: 'target', hub: 'source', moment: 'past its cut-over', name: 'target-past' },
  { away: 'source', hub: 'source', moment: 'while its memory is copied', name: 'hub-copied' },
])(
  'the API server of the $away is away from a VM $moment, with the plans on the $hub: the run goes on',
  async ({ away, hub, moment, name }) => {
    const { held, untilThere } = MOMENTS[moment];
    const { controlPlane } = crossings.clusters.members[away];
    const work = async (crossing: Crossing): Promise<void> => {
      await crossing.createVm('web');
      await crossing.createPlan([{ name: 'web' }]);
      const letGo = crossing.pair.transfers.hold(held);
      try {
        await crossing.createMigrationAs();
        await untilThere(crossing);
        await controlPlane.stopApiServer();
        try {
          await expectUnknown(crossing, away === hub);
        } finally {
          await controlPlane.startApiServer();
        }
      } finally {
        letGo();
      }
      expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
      expect(await untilMoved(crossing)).toEqual({
        source: { runStrategy: 'Halted', shown: 'Stopped', vmis: 0, vmims: 0 },
        target: { runStrategy: 'Always', shown: 'Running', vmis: 1, vmims: 0 },
      });
      expect(await crossing.finalizers()).toEqual([]);
    };
    await crossings.within(name, work, { hub });
  },
);
