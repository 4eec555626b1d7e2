import { describe, expect, test } from '@jest/globals';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';
import { EVENTS, NAMESPACES } from '../../../../functions/kubernetes/resources.ts';
import { FORKLIFT_CONTROLLERS, VIRTUAL_MACHINES } from '../../../../functions/kubernetes/live-resources.ts';
import { LIVE_KIND } from '../../../../functions/domain/live/names.ts';

test('where Forklift is installed nothing is done, and one Event on its controller says so', async () => {
  const run = await ModelledRun.prepare();
  const metadata = { namespace: 'konveyor-forklift', name: 'forklift-controller' };
  await run.hub.create(NAMESPACES, { ...LIVE_KIND.namespace, metadata: { name: metadata.namespace } });
  const { object } = await run.hub.create(FORKLIFT_CONTROLLERS, { metadata });
  const before = (await run.migration()).metadata.resourceVersion;
  await run.resync();
  await run.changed('Migration');
  expect((await run.migration()).metadata.resourceVersion).toBe(before);
  const { items } = await run.hub.list(EVENTS, {});
  expect(items).toMatchObject([
    {
      reason: 'LeftToForklift',
      involvedObject: { kind: 'ForkliftController', name: metadata.name, uid: object.metadata.uid },
    },
  ]);
});

describe('Forklift is installed during a run', () => {
  const install = async (run: ModelledRun): Promise<void> => {
    const metadata = { namespace: 'konveyor-forklift', name: 'forklift-controller' };
    await run.hub.create(NAMESPACES, { ...LIVE_KIND.namespace, metadata: { name: metadata.namespace } });
    await run.hub.create(FORKLIFT_CONTROLLERS, { metadata });
  };

  test('a VM that has not begun waits', async () => {
    const run = await ModelledRun.start();
    await run.models.source.admin.patch(
      VIRTUAL_MACHINES,
      { namespace: 'vms', name: 'web' },
      { merge: { metadata: { annotations: null } } },
    );
    await install(run);
    await run.resync();
    const [vm] = (await run.migration()).status?.vms ?? [];
    expect(vm?.conditions).toMatchObject([
      { reason: 'PlanNotReady', message: expect.stringContaining('Forklift was installed') },
    ]);
    expect(await run.isRecorded()).toBe(false);
  });

  test('one that has goes on, and the plan is not checked beside Forklift', async () => {
    const run = await ModelledRun.start();
    await install(run);
    await run.resync();
    expect((await run.migration()).status?.vms?.[0]?.phase).toBe('CreateEmptyDataVolumes');
    run.away.add('source');
    await run.resync();
    expect(conditionsOf((await run.plan()).status)).not.toContain('SourceProviderNotReady');
  });
});
