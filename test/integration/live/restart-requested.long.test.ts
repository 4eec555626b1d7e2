import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIVE_REASON } from '../../../functions/domain/live/names.ts';
import { FULL_VMIS, VMS } from '../../cluster/kubevirt/objects/objects.ts';
import { removeClaims } from '../../support/live/claims.ts';
import { conditionsOf, isOver, type Crossing } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';
import { actPastCutOver, untilCopied } from '../../support/live/moments.ts';
import { labelled, seenIn, untilMoved } from '../../support/live/seen.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

/** The uid of the VMI that is to be restarted. KubeVirt waits with it for the end of the migration. */
async function restart(crossing: Crossing): Promise<string> {
  const { admin, namespace } = crossing.side('source');
  const at = { namespace, name: 'web' };
  const { uid } = (await admin.get(FULL_VMIS, at)).object.metadata;
  // As `virtctl restart` asks for it.
  const stateChangeRequests = [{ action: 'Stop', uid }, { action: 'Start' }];
  await admin.patch(VMS, at, { merge: { status: { stateChangeRequests } }, subresource: 'status' });
  return uid;
}

test('before the cut-over: the run ends, and the VM is restarted on the source', async () => {
  await crossings.within('restart-before', async (crossing) => {
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    const { admin, namespace } = crossing.side('source');
    const letGo = crossing.pair.transfers.hold('transfer');
    const stopRemoving = removeClaims(crossing.side('target'));
    try {
      await crossing.createMigrationAs();
      await untilCopied(crossing);
      const before = await restart(crossing);
      const { status } = await crossing.until('it has ended', isOver);
      expect(status?.vms?.[0]?.conditions).toContainEqual(
        expect.objectContaining({ type: 'Failed', reason: LIVE_REASON.sourceStopped }),
      );
      await crossing.until('another VMI runs', async () => {
        const { items } = await admin.list(FULL_VMIS, { namespace });
        return items.some(({ metadata, status: is }) => metadata.uid !== before && is?.phase === 'Running');
      });
    } finally {
      letGo();
      await stopRemoving();
    }
    expect(await labelled(crossing)).toEqual([]);
    expect(await seenIn(crossing)).toMatchObject({ source: { runStrategy: 'Always' }, target: undefined });
  });
});

test('past the cut-over: it is taken off, so that the VM does not start from its old disks', async () => {
  await crossings.within('restart-past', async (crossing) => {
    await actPastCutOver(crossing, async () => {
      await restart(crossing);
      await crossing.until('the restart is taken off', async () => {
        const { admin, namespace } = crossing.side('source');
        const { status } = (await admin.get(VMS, { namespace, name: 'web' })).object;
        return (status?.stateChangeRequests ?? []).length === 0;
      });
    });
    const migration = await crossing.until('it has ended', isOver);
    expect(conditionsOf(migration)).toContain('Succeeded');
    expect(await untilMoved(crossing)).toEqual({
      source: { runStrategy: 'Halted', shown: 'Stopped', vmis: 0, vmims: 0 },
      target: { runStrategy: 'Always', shown: 'Running', vmis: 1, vmims: 0 },
    });
  });
});
