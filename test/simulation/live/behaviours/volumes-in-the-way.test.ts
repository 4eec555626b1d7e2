import { describe, expect, test } from '@jest/globals';
import {
  DATA_VOLUMES,
  PLAN_MIGRATIONS,
  PROVIDERS,
  VIRTUAL_MACHINES,
  WHOLE_CLAIMS,
} from '../../../../functions/kubernetes/live-resources.ts';
import { aVm } from '../../../support/builders/live.ts';
import { rawText } from '../../../support/raw-text.ts';
import type { Volume } from '../../../../functions/domain/live/kubevirt.ts';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';

/** What the plan's conditions have as items. */
const itemsOf = async (run: ModelledRun): Promise<string[]> =>
  ((await run.plan()).status?.conditions ?? []).flatMap(({ items = [] }) => items.map(rawText));

/** Another VM of the source, with this volume. */
async function add(run: ModelledRun, source: Omit<Volume, 'name'>, namespace = 'vms'): Promise<void> {
  const { spec } = aVm();
  const volumes: Volume[] = [{ name: 'data', ...source }];
  const template = { ...spec.template, spec: { ...spec.template.spec, volumes } };
  const { admin } = run.models.source;
  await admin.create(VIRTUAL_MACHINES, { metadata: { namespace, name: 'db' }, spec: { ...spec, template } });
}

describe('a claim that another VM of the namespace uses', () => {
  test.each<[string, Omit<Volume, 'name'>]>([
    ['as a DataVolume', { dataVolume: { name: 'web-root' } }],
    ['as a claim', { persistentVolumeClaim: { claimName: 'web-root' } }],
    ['below an ephemeral disk', { ephemeral: { persistentVolumeClaim: { claimName: 'web-root' } } }],
    ['for its memory dump', { memoryDump: { claimName: 'web-root' } }],
  ])('%s keeps the run from beginning', async (_how, source) => {
    const run = await ModelledRun.prepareReady();
    await add(run, source);
    await run.resync();
    expect(conditionsOf((await run.plan()).status)).toEqual(['SharedDisks NotSupported']);
    expect(await itemsOf(run)).toEqual(['vms/web: volume root (web-root) is used by vms/db']);
    expect(await run.isRecorded()).toBe(false);
  });

  test('in another namespace is another claim', async () => {
    const run = await ModelledRun.prepareReady();
    await add(run, { dataVolume: { name: 'web-root' } }, 'tenant');
    await run.resync('Plan');
    expect(conditionsOf((await run.plan()).status)).toContain('Ready');
  });

  test('is not named to a requester who may not list the VMs of the hub', async () => {
    const run = await ModelledRun.prepareReady();
    await run.hub.delete(PLAN_MIGRATIONS, { namespace: 'tenant', name: 'migration' });
    const source = { namespace: 'tenant', name: 'source' };
    await run.hub.patch(PROVIDERS, source, { merge: { spec: { url: '', secret: null } } });
    for (const name of ['web', 'db'])
      await run.hub.create(VIRTUAL_MACHINES, { metadata: { namespace: 'vms', name }, spec: aVm().spec });
    const shown = async (): Promise<string[]> => {
      await run.resync('Plan');
      return (await itemsOf(run)).filter((item) => item.includes('is used by'));
    };
    expect(await shown()).toEqual(['vms/web: volume root (web-root) is used by vms/db']);
    run.forbids = ({ verb }) => verb === 'list';
    expect(await shown()).toEqual(['vms/web: volume root (web-root) is used by another VM']);
  });
});

test.each([
  ['claim', WHOLE_CLAIMS],
  ['DataVolume', DATA_VOLUMES],
])(
  'a foreign %s of the same name in the target namespace keeps the run from beginning',
  async (_what, type) => {
    const run = await ModelledRun.prepareReady();
    const { admin } = run.models.destination;
    await admin.create(type as typeof WHOLE_CLAIMS, {
      metadata: { namespace: 'target', name: 'web-root' },
      spec: {},
    });
    await run.resync();
    expect(conditionsOf((await run.plan()).status)).toEqual(['VolumeAlreadyExists NotUnique']);
    expect(await itemsOf(run)).toEqual([
      `vms/web: a ${type.kind} web-root, which no run made, is on the target: delete it there if nothing uses it`,
    ]);
    expect(await run.isRecorded()).toBe(false);
  },
);
