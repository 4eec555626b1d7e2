import { describe, expect, test } from '@jest/globals';
import { aReceiver } from '../../../support/builders/live-run.ts';
import { conditionsOf, END, ModelledRun } from '../world/modelled-run.ts';
import { VIRTUAL_MACHINES } from '../../../../functions/kubernetes/live-resources.ts';

describe('a cluster that a run cannot ask', () => {
  test('is shown by its Provider and the Plan while VMs move, until it answers again', async () => {
    const run = await ModelledRun.start();
    run.away.add('source');
    await run.resync();
    expect(conditionsOf((await run.provider('source')).status)).toContain('ConnectionTestFailed Tested');
    expect(conditionsOf((await run.provider('destination')).status)).toContain('Ready');
    const shown = conditionsOf((await run.plan()).status);
    expect(shown).toContain('Executing');
    expect(shown).toContain('SourceProviderNotReady');
    expect(shown).not.toContain('Ready');

    run.away.clear();
    run.wait(60);
    await run.resync();
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
    expect(conditionsOf((await run.plan()).status)).not.toContain('SourceProviderNotReady');
  });

  test('is shown too once its VM has ended with something left over', async () => {
    const run = await ModelledRun.start({ attempt: 1, end: END });
    await run.made(aReceiver(), VIRTUAL_MACHINES);
    await run.models.source.admin.delete(VIRTUAL_MACHINES, { namespace: 'vms', name: 'web' });
    await run.resync();
    run.away.add('destination');
    await run.resync();
    expect(conditionsOf((await run.plan()).status)).toContain('DestinationProviderNotReady');
  });

  test('is asked with a renewed token when the guard looks at the run again', async () => {
    const run = await ModelledRun.start();
    run.tokens.source = 'renewed';
    await run.resync();
    expect(conditionsOf((await run.provider('source')).status)).toContain('ConnectionAuthFailed Tested');
    const [vm] = (await run.migration()).status?.vms ?? [];
    expect(conditionsOf(vm)).toEqual(['Waiting ClusterUnknown']);

    await run.renewToken('source', 'renewed');
    await run.resync();
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
    const [next] = (await run.migration()).status?.vms ?? [];
    expect(next?.phase).toBe('CreateEmptyDataVolumes');
    expect(conditionsOf(next)).not.toContain('Waiting ClusterUnknown');
  });

  test('is asked with a renewed token when the guard looks at the plan again', async () => {
    const run = await ModelledRun.prepare();
    run.tokens.source = 'renewed';
    await run.resync('Plan');
    expect(conditionsOf((await run.plan()).status)).toContain('SourceProviderNotReady');
    await run.renewToken('source', 'renewed');
    await run.resync('Plan');
    expect(conditionsOf((await run.plan()).status)).not.toContain('SourceProviderNotReady');
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
  });
});
