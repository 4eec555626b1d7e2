import { test } from '@jest/globals';
import { CrossRun } from '../../support/kubevirt/cross-scenarios.ts';
import { simulatePair } from '../world/two-kubevirts.ts';

/** The source's VMIM may be gone before its synchronization controller has said how it ended (facts/cross-cluster.md C6). */
test('a target whose guest was called back, and that hears nothing of it, waits for a guest again', async () => {
  const pair = await simulatePair();
  const { source, target, network } = pair;
  await pair.run(async () => {
    const run = new CrossRun(pair);
    await run.onTheWay(async () => {
      network.cut(source.address);
      await run.deleteMigration(source, 'send');
      await run.untilGone(source, 'send');
    });
    await run.untilFailed(target, 'receive');
    await run.untilBack();
  });
});
