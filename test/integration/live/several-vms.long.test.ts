import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { PlanMigration } from '../../../functions/domain/live/forklift.ts';
import { vmsUnderWay } from '../../../functions/live/run/state.ts';
import { LIVE_REASON } from '../../../functions/domain/live/names.ts';
import { FULL_MIGRATIONS, VMS } from '../../cluster/kubevirt/objects/objects.ts';
import { askUntil } from '../../support/eventually.ts';
import { conditionsOf, isOver, type Crossing } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

const NAMES = ['a', 'b', 'c'];

const setStrategy = (crossing: Crossing, name: string, runStrategy: string): Promise<unknown> => {
  const { admin, namespace } = crossing.side('source');
  return admin.patch(VMS, { namespace, name }, { merge: { spec: { runStrategy } } });
};

/** Resolves with the VMs on their way that were seen together, at most. */
async function untilEnded(crossing: Crossing): Promise<{ migration: PlanMigration; most: number }> {
  let most = 0;
  const migration = await crossing.until('it has ended', (seen) => {
    most = Math.max(most, vmsUnderWay(seen).length);
    return isOver(seen);
  });
  return { migration, most };
}

const ends = ({ status }: PlanMigration): string[] =>
  (status?.vms ?? []).map((vm) => `${vm.name ?? ''} ${conditionsOf({ status: vm }).at(-1) ?? ''}`);

/** A VM says so a moment after its VMI. */
const untilRunning = (
  crossing: Crossing,
  side: 'source' | 'target',
  names: readonly string[],
): Promise<unknown> => {
  const { admin, namespace } = crossing.side(side);
  return askUntil(
    `${names.join(', ')} run on the ${side}, and no other`,
    async () => (await admin.list(VMS, { namespace })).items,
    (vms) => {
      const running = vms.filter(({ status }) => status?.printableStatus === 'Running');
      return running.map(({ metadata }) => metadata.name).join() === names.join();
    },
  );
};

test('VMs move one at a time, one that fails stops no other, and a second Migration moves it alone', async () => {
  const work = async (crossing: Crossing): Promise<void> => {
    for (const name of NAMES) await crossing.createVm(name);
    await crossing.createPlan(NAMES.map((name) => ({ name })));
    await crossing.createMigrationAs();
    await crossing.until('the first one is on its way', (seen) => vmsUnderWay(seen).length > 0);
    await setStrategy(crossing, 'b', 'Halted');
    const first = await untilEnded(crossing);
    expect(first.most).toBe(1);
    expect(conditionsOf(first.migration)).toContain('Failed');
    expect(ends(first.migration)).toEqual(['a Succeeded', 'b Failed', 'c Succeeded']);
    await untilRunning(crossing, 'target', ['a', 'c']);

    await setStrategy(crossing, 'b', 'Always');
    await crossing.untilRunning('b');
    await crossing.createMigrationAs(undefined, 'move-2');
    const second = await untilEnded(crossing);
    expect(conditionsOf(second.migration)).toContain('Succeeded');
    await untilRunning(crossing, 'target', NAMES);
    await untilRunning(crossing, 'source', []);
    expect(conditionsOf(await crossing.plan())).toContain('Succeeded');
  };
  await crossings.within('several', work, { maxVmsInFlight: 1 });
});

test('into a quota with room for two, the first two go one after the other, and the third sends nothing until there is room', async () => {
  const work = async (crossing: Crossing): Promise<void> => {
    for (const name of NAMES) await crossing.createVm(name);
    await crossing.createPlan(NAMES.map((name) => ({ name })));
    await crossing.limitTarget({ pods: '2' });
    await crossing.createMigrationAs();
    const source = crossing.side('source');
    const sent = async (): Promise<string[]> => {
      const { items } = await source.admin.list(FULL_MIGRATIONS, { namespace: source.namespace });
      return items.map(({ spec }) => spec.vmiName ?? '');
    };
    const everSent = new Set<string>();
    await crossing.until('two have moved, and it is shown why the third waits', async ({ status }) => {
      for (const name of await sent()) everSent.add(name);
      const [a, b, c] = status?.vms ?? [];
      const moved = [a, b].every((vm) => vm?.completed !== undefined);
      return moved && c?.conditions?.some(({ reason }) => reason === LIVE_REASON.overQuota) === true;
    });
    expect([...everSent].sort()).toEqual(['a', 'b']);
    await crossing.limitTarget({ pods: '3' });
    const { migration } = await untilEnded(crossing);
    expect(ends(migration)).toEqual(['a Succeeded', 'b Succeeded', 'c Succeeded']);
    await untilRunning(crossing, 'target', NAMES);
  };
  await crossings.within('in-turn', work);
});
