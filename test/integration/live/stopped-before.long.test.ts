import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FULL_VMIS } from '../../cluster/kubevirt/objects/objects.ts';
import { removeClaims } from '../../support/live/claims.ts';
import { LIVE_REASON } from '../../../functions/domain/live/names.ts';
import { conditionsOf, type Crossing } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';
import { untilCopied } from '../../support/live/moments.ts';
import { labelled, seenIn } from '../../support/live/seen.ts';
import { STOPS, untilReleased } from '../../support/live/stops.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

interface Moment {
  readonly moment: string;
  readonly short: string;
  /** Brings the VM there, where it stays; the result ends that. */
  readonly reach: (crossing: Crossing) => Promise<() => void>;
}

const MOMENTS: readonly Moment[] = [
  {
    moment: 'while it waits for room on the target',
    short: 'waits',
    reach: async (crossing) => {
      await crossing.limitTarget({ 'requests.memory': '600Mi' });
      await crossing.createMigrationAs();
      await crossing.until('there is no room', ({ status }) =>
        JSON.stringify(status?.vms ?? []).includes(LIVE_REASON.overQuota),
      );
      return () => undefined;
    },
  },
  {
    moment: 'while its memory is copied',
    short: 'copied',
    reach: async (crossing) => {
      const letGo = crossing.pair.transfers.hold('transfer');
      await crossing.createMigrationAs();
      await untilCopied(crossing);
      return letGo;
    },
  },
];

async function guestOf(crossing: Crossing): Promise<string[]> {
  const { admin, namespace } = crossing.side('source');
  const { items } = await admin.list(FULL_VMIS, { namespace });
  return items.map(({ metadata, status }) => `${metadata.uid} ${status?.phase ?? ''}`);
}

describe.each(MOMENTS)('a VM, $moment', ({ short, reach }) => {
  test.each(STOPS)(
    '$name: it runs on as it did, the target keeps nothing, and nothing is held',
    async (how) => {
      await crossings.within(`${short}-${how.name}`, async (crossing) => {
        await crossing.createVm('web');
        const before = await guestOf(crossing);
        await crossing.createPlan([{ name: 'web' }]);
        const letGo = await reach(crossing);
        const stopRemoving = removeClaims(crossing.side('target'));
        try {
          await how.stop(crossing);
          const migration = await untilReleased(crossing, how);
          // A Migration goes with its Plan.
          if (migration !== undefined) expect(conditionsOf(migration)).toContain('Canceled');
        } finally {
          letGo();
          await stopRemoving();
        }
        expect(await labelled(crossing)).toEqual([]);
        expect(await seenIn(crossing)).toEqual({
          source: { runStrategy: 'Always', shown: 'Running', vmis: 1, vmims: 0 },
          target: undefined,
        });
        expect(await guestOf(crossing)).toEqual(before);
      });
    },
  );
});
