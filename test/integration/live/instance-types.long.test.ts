import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIVE_CONDITION } from '../../../functions/domain/live/names.ts';
import type { New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import {
  CLUSTER_INSTANCETYPES,
  CLUSTER_PREFERENCES,
  CONTROLLER_REVISIONS,
  INSTANCETYPES,
  PREFERENCES,
} from '../../../functions/kubernetes/live-resources.ts';
import type { Vm } from '../../cluster/kubevirt/objects/types.ts';
import { serveAnything } from '../../cluster/served.ts';
import type { PairSide } from '../../support/kubevirt/pair.ts';
import { conditionsOf } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

test('instance types are copied as VMs run with them, and cluster-wide ones must be on the target', async () => {
  const { source, target } = crossings.clusters.members;
  for (const { admin } of [source, target])
    for (const type of [...OWN, ...WIDE]) await serveAnything(admin, type);
  await crossings.within('sized', async (crossing) => {
    const [instancetype, preference] = [
      await storeRevision(crossing.side('source'), INSTANCETYPES),
      await storeRevision(crossing.side('source'), PREFERENCES),
    ];
    for (const type of WIDE) await source.admin.create(type, ofSize(2, { name: 'wide' }));
    const at = { namespace: crossing.side('target').namespace, name: 'own' };
    await target.admin.create(PREFERENCES, ofSize(1, at));
    const named = (more: object) => (vm: New<Vm>) => ({ ...vm, spec: { ...vm.spec, ...more } });
    await crossing.createVm('web', { change: named({ instancetype, preference: { name: 'wide' } }) });
    await crossing.createVm('db', { change: named({ instancetype: { name: 'wide' }, preference }) });
    await crossing.createPlan([{ name: 'web' }, { name: 'db' }]);
    await crossing.resync('Plan');
    const { conditions = [] } = (await crossing.plan()).status ?? {};
    expect(conditions.find(({ type }) => type === LIVE_CONDITION.instanceTypeDiffers)?.items).toEqual([
      expect.stringMatching(/web: VirtualMachineClusterPreference wide is not on the target/),
      expect.stringMatching(/db: VirtualMachineClusterInstancetype wide is not on the target/),
    ]);

    for (const type of WIDE) await target.admin.create(type, ofSize(2, { name: 'wide' }));
    await crossing.resync('Plan');
    expect(conditionsOf(await crossing.plan())).not.toContain(LIVE_CONDITION.instanceTypeDiffers);
    await crossing.createMigrationAs();
    expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
    for (const type of OWN)
      expect((await target.admin.get(type, at)).object).toMatchObject({ spec: { cpu: { guest: 1 } } });
  });
});

const OWN: readonly ResourceType[] = [INSTANCETYPES, PREFERENCES];
const WIDE: readonly ResourceType[] = [CLUSTER_INSTANCETYPES, CLUSTER_PREFERENCES];

const ofSize = (guest: number, at: object): never => ({ metadata: at, spec: { cpu: { guest } } }) as never;

/** As KubeVirt does for a VM, and the object has been changed since. */
async function storeRevision({ admin, namespace }: PairSide, type: ResourceType): Promise<object> {
  const { kind, apiVersion } = type;
  const revisionName = `stored-${type.plural}`;
  const data = { apiVersion, kind, ...(ofSize(1, { name: 'own' }) as object) };
  const stored = { metadata: { namespace, name: revisionName }, data, ...{ revision: 1 } };
  await admin.create(CONTROLLER_REVISIONS, stored);
  await admin.create(type, ofSize(4, { namespace, name: 'own' }));
  return { kind, name: 'own', revisionName };
}
