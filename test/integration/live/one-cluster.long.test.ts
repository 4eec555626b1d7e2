import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Plan } from '../../../functions/domain/live/forklift.ts';
import { removeClaims } from '../../support/live/claims.ts';
import { conditionsOf } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';
import { untilCopied } from '../../support/live/moments.ts';
import { seenIn } from '../../support/live/seen.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings('one cluster');
});

afterAll(async () => {
  await crossings.stop();
});

const sameProvider = (namespace: string): Plan['spec']['provider'] => ({
  source: { namespace, name: 'source' },
  destination: { namespace, name: 'source' },
});

describe.each(['two providers', 'one provider twice'])('one cluster by %s', (by) => {
  const name = by.replaceAll(' ', '-');
  const differentProvider = by === 'two providers' ? {} : { provider: sameProvider(`plans-${name}`) };

  test('a VM moves to another namespace, and nothing is held afterwards', async () => {
    await crossings.within(name, async (crossing) => {
      await crossing.createVm('web', { disks: ['root', 'data'] });
      await crossing.createPlan([{ name: 'web' }], differentProvider);
      await crossing.resync('Plan');
      expect(conditionsOf(await crossing.plan())).toContain('Ready');
      await crossing.createMigrationAs();
      expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
      expect(await seenIn(crossing)).toEqual({
        source: { runStrategy: 'Halted', shown: 'Stopped', vmis: 0, vmims: 0 },
        target: { runStrategy: 'Always', shown: 'Running', vmis: 1, vmims: 0 },
      });
      expect(await crossing.finalizers()).toEqual([]);
    });
  });
});

test('a VM that is canceled while its memory is copied stays where it was', async () => {
  await crossings.within('canceled', async (crossing) => {
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    await crossing.createMigrationAs();
    const letGo = crossing.pair.transfers.hold('transfer');
    const { namespace } = crossing.side('source');
    await untilCopied(crossing);
    await crossing.patchMigration({ spec: { cancel: [{ namespace, name: 'web' }] } });
    const stopRemoving = removeClaims(crossing.side('target'));
    const migration = await crossing.untilEnded().finally(stopRemoving);
    letGo();
    expect(conditionsOf(migration)).toContain('Canceled');
    expect(await seenIn(crossing)).toEqual({
      source: { runStrategy: 'Always', shown: 'Running', vmis: 1, vmims: 0 },
      target: undefined,
    });
    expect(await crossing.finalizers()).toEqual([]);
  });
});

test('a plan whose VMs would move into their own namespace is refused', async () => {
  await crossings.within('same', async (crossing) => {
    const { namespace: targetNamespace } = crossing.side('source');
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }], { targetNamespace });
    await crossing.resync('Plan');
    const plan = await crossing.plan();
    expect(conditionsOf(plan)).not.toContain('Ready');
    expect(JSON.stringify(plan.status?.conditions)).toContain(targetNamespace);
  });
});
