import { expect, test } from '@jest/globals';
import type { Volume } from '../../../../functions/domain/live/kubevirt.ts';
import { LIVE_KIND } from '../../../../functions/domain/live/names.ts';
import {
  SECRETS,
  SERVICE_ACCOUNTS,
  VIRTUAL_MACHINES,
  WHOLE_VMIS,
} from '../../../../functions/kubernetes/live-resources.ts';
import { ModelledRun } from '../world/modelled-run.ts';

const LOOT = { namespace: 'target', name: 'loot' };
const ACCOUNT: Volume = { name: 'loot', serviceAccount: { serviceAccountName: LOOT.name } };
const SECRET: Volume = { name: 'loot', secret: { secretName: LOOT.name } };
const OPTIONAL: Volume = { name: 'loot', secret: { secretName: LOOT.name, optional: true } };

/** The source gives its VM the volume. */
async function add(volume: Volume, { models }: ModelledRun): Promise<void> {
  const { admin } = models.source;
  const at = { namespace: 'vms', name: 'web' };
  const [{ object: vm }, { object: vmi }] = await Promise.all([
    admin.get(VIRTUAL_MACHINES, at),
    admin.get(WHOLE_VMIS, at),
  ]);
  const { template } = vm.spec;
  const volumes = [...(template.spec.volumes ?? []), volume];
  await admin.patch(VIRTUAL_MACHINES, at, { merge: { spec: { template: { spec: { volumes } } } } });
  await admin.patch(WHOLE_VMIS, at, { merge: { spec: { ...vmi.spec, volumes } } });
}

/** What the Plan and the Migration say, and the VMs on the target, where that has what the volume names. */
async function shownWith(
  volume: Volume,
  { isReady, isThere }: Record<'isReady' | 'isThere', boolean>,
): Promise<unknown> {
  const run = isReady ? await ModelledRun.prepareReady() : await ModelledRun.start();
  const { admin } = run.models.destination;
  if (isThere) {
    await admin.create(SECRETS, { ...LIVE_KIND.secret, metadata: LOOT });
    await admin.create(SERVICE_ACCOUNTS, { metadata: LOOT });
  }
  await add(volume, run);
  await run.changed('Plan');
  await run.resync();
  await run.resync();
  const { items } = await admin.list(VIRTUAL_MACHINES, { namespace: 'target' });
  const [{ status: ofPlan }, { status: ofRun }] = [await run.plan(), await run.migration()];
  const said = [...(ofPlan?.conditions ?? []), ...(ofRun?.vms?.[0]?.conditions ?? [])];
  return { said: said.map(({ type, reason, items: of }) => [type, reason, of]), made: items.length };
}

test.each<[string, Volume, boolean, unknown]>([
  ['a Secret', SECRET, true, ['ResourceNotFound', 'NotFound', ['vms/web: Secret loot']]],
  ['an optional Secret', OPTIONAL, true, ['ResourceNotFound', 'NotFound', ['vms/web: Secret loot']]],
  ['a ServiceAccount', ACCOUNT, true, ['VMMigrationTypeUnsupported', 'NotSupported', [expect.any(String)]]],
  ['a Secret, once its run has begun', SECRET, false, ['Failed', 'ResourceFailed', undefined]],
])(
  'a guest of another cluster gets nothing that is on the target: %s',
  async (_what, volume, isReady, wanted) => {
    const [present, without] = await Promise.all(
      [true, false].map((isThere) => shownWith(volume, { isReady, isThere })),
    );
    expect(present).toEqual({ said: expect.arrayContaining([wanted]), made: 0 });
    expect(present).toEqual(without);
  },
);
