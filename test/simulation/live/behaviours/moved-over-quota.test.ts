import { describe, expect, test } from '@jest/globals';
import type { VirtualMachine } from '../../../../functions/domain/live/kubevirt.ts';
import { PLANS, VIRTUAL_MACHINES } from '../../../../functions/kubernetes/live-resources.ts';
import { RESOURCE_QUOTAS } from '../../../../functions/kubernetes/resources.ts';
import { aReceiver } from '../../../support/builders/live-run.ts';
import { seconds } from '../../../support/builders/object.ts';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';
import type { ForeignText } from '../../../../functions/domain/foreign-text.ts';

const always = (vm: VirtualMachine): VirtualMachine => ({
  ...vm,
  spec: { ...vm.spec, runStrategy: 'Always' },
});

describe('a VM that was over its quota when all had moved', () => {
  const QUOTA = { namespace: 'target', name: 'quota' };

  /** By so many pods. */
  const over = async ({ models }: ModelledRun, pods: number): Promise<void> => {
    const merge = { status: { hard: { pods: '1' }, used: { pods: String(1 + pods) } } };
    await models.destination.admin.patch(RESOURCE_QUOTAS, QUOTA, { merge, subresource: 'status' });
  };
  const said = async (run: ModelledRun): Promise<(ForeignText | undefined)[]> =>
    ((await run.plan()).status?.migration?.vms ?? []).flatMap(({ conditions = [] }) =>
      conditions.filter(({ type }) => type === 'RestartWouldBeRefused').map(({ message }) => message),
    );

  /** It was over by one pod then. */
  async function moved(): Promise<ModelledRun> {
    const run = await ModelledRun.prepare();
    await run.made(aReceiver(always), VIRTUAL_MACHINES);
    const spec = { hard: { pods: '1' } };
    await run.models.destination.admin.create(RESOURCE_QUOTAS, { metadata: QUOTA, spec });
    await over(run, 1);
    const [succeeded, refused] = ['Succeeded', 'RestartWouldBeRefused'].map((type) => ({
      ...{ type, status: 'True', category: 'Advisory', message: 'by pods=1', lastTransitionTime: seconds(0) },
    }));
    const vm = { name: 'web', phase: 'Completed', pipeline: [], conditions: [succeeded, refused] };
    const merge = { status: { conditions: [succeeded], migration: { vms: [vm] } } };
    await run.hub.patch(PLANS, { namespace: 'tenant', name: 'plan' }, { merge, subresource: 'status' });
    return run;
  }

  test('is shown to be as long as it is, by how much it is now', async () => {
    const run = await moved();
    await over(run, 2);
    await run.resync('Plan');
    expect(await said(run)).toEqual([expect.stringContaining('ResourceQuota quota lacks pods=2.')]);
    const { resourceVersion } = (await run.plan()).metadata;
    await run.resync('Plan');
    expect((await run.plan()).metadata.resourceVersion).toBe(resourceVersion);
    await over(run, 0);
    await run.resync('Plan');
    expect(await said(run)).toEqual([]);
    expect(conditionsOf((await run.plan()).status)).toEqual(['Succeeded']);
  });

  test('is not once it is gone', async () => {
    const run = await moved();
    await run.models.destination.admin.delete(VIRTUAL_MACHINES, { namespace: 'target', name: 'web' });
    await run.resync('Plan');
    expect(await said(run)).toEqual([]);
  });

  test('is as it was while its cluster does not answer', async () => {
    const run = await moved();
    await over(run, 0);
    run.away.add('destination');
    await run.resync('Plan');
    expect(await said(run)).toEqual(['by pods=1']);
  });
});
