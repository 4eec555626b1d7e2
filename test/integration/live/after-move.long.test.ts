import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { LIVE_ANNOTATION } from '../../../functions/domain/live/names.ts';
import { PROVIDERS, VIRTUAL_MACHINES } from '../../../functions/kubernetes/live-resources.ts';
import { FULL_MIGRATIONS, FULL_VMIS, VMS } from '../../cluster/kubevirt/objects/objects.ts';
import { conditionsOf, type Crossing } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';
import { untilMoved } from '../../support/live/seen.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings('two clusters', { keepsSides: true, nodes: 2 });
});

afterAll(async () => {
  await crossings.stop();
});

type Side = 'source' | 'target';
const annotationOf = async (crossing: Crossing, side: Side, key: string): Promise<string | undefined> => {
  const { admin, namespace } = crossing.side(side);
  const { object } = await admin.get(VIRTUAL_MACHINES, { namespace, name: 'web' });
  return object.metadata.annotations?.[key];
};
const stateOf = async (crossing: Crossing): Promise<object | undefined> => {
  const { admin, namespace } = crossing.side('target');
  return (await admin.get(FULL_VMIS, { namespace, name: 'web' })).object.status?.migrationState;
};
const sidesIn = (state: object = {}): string[] =>
  ['sourceState', 'targetState'].filter((side) => side in state);
const saidOfVm = async (crossing: Crossing): Promise<string[]> =>
  ((await crossing.migration()).status?.vms ?? []).flatMap((vm) => conditionsOf({ status: vm }));

/** Moves VM `web`. */
async function move(crossing: Crossing, settings?: Readonly<Record<string, string>>): Promise<void> {
  await crossing.createVm('web');
  await crossing.createPlan([{ name: 'web' }]);
  const { namespace } = crossing.migrationAt;
  if (settings !== undefined)
    await crossing.admin.patch(PROVIDERS, { namespace, name: 'target' }, { merge: { spec: { settings } } });
  await crossing.createMigrationAs();
  expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
  await untilMoved(crossing);
}

describe('a VM that has moved, by a KubeVirt that keeps both sides of the state', () => {
  test('has that said on the plan and on itself, and on the source where it is', async () => {
    await crossings.within('kept', async (crossing) => {
      await move(crossing);
      expect(sidesIn(await stateOf(crossing))).toEqual(['sourceState', 'targetState']);
      expect(await saidOfVm(crossing)).toContain('NextCrashHalts');
      await crossing.resync('Plan');
      expect(conditionsOf(await crossing.plan())).toContain('NextCrashHalts');
      expect(await annotationOf(crossing, 'target', LIVE_ANNOTATION.nextCrash)).toContain('virtctl migrate');
      const place = JSON.parse(
        (await annotationOf(crossing, 'source', LIVE_ANNOTATION.movedTo)) ?? '{}',
      ) as object;
      expect(place).toMatchObject({ vm: `${crossing.side('target').namespace}/web` });
    });
  });

  test('migrates once within the target where that is wanted, and nothing of it is left', async () => {
    await crossings.within('mended', async (crossing) => {
      await move(crossing, { localMigration: 'true' });
      expect(sidesIn(await stateOf(crossing))).toEqual([]);
      expect(await saidOfVm(crossing)).not.toContain('NextCrashHalts');
      const { admin, namespace } = crossing.side('target');
      expect((await admin.list(FULL_MIGRATIONS, { namespace })).items).toEqual([]);
    });
  });

  test('and that an owner starts on the source, runs on both as the plan says', async () => {
    await crossings.within('both', async (crossing) => {
      await move(crossing);
      const { admin, namespace } = crossing.side('source');
      const merge = { spec: { runStrategy: 'Always' } };
      await admin.patch(VMS, { namespace, name: 'web' }, { merge });
      await crossing.untilRunning('web');
      await crossing.resync('Plan');
      expect(conditionsOf(await crossing.plan())).toContain('RunsOnBoth');
    });
  });
});
