import { expect, test } from '@jest/globals';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';
import { PROVIDERS } from '../../../../functions/kubernetes/live-resources.ts';

test.each(['source', 'destination'])(
  'the process ended between the Provider of the %s, which is gone, and the Migration: that is let go too',
  async (name) => {
    const run = await ModelledRun.start();
    await run.hub.delete(PROVIDERS, { namespace: 'tenant', name });
    await run.resync();
    await run.hold('migration');
    await run.resync();
    expect(await run.held()).toEqual([]);
    expect(conditionsOf((await run.migration()).status?.vms?.[0])).toEqual(['Canceled Deleted']);
  },
);
