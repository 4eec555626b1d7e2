import { expect, test } from '@jest/globals';
import { aReceiver, arrived, aWaitingVmi } from '../../../support/builders/live-run.ts';
import { seconds } from '../../../support/builders/object.ts';
import { always, conditionsOf, HELD, MARK, ModelledRun } from '../world/modelled-run.ts';
import { VIRTUAL_MACHINES, WHOLE_VMIS } from '../../../../functions/kubernetes/live-resources.ts';

test('a source VM that was replaced past the cut-over is no end, until the other one is off', async () => {
  const run = await ModelledRun.start({ attempt: 1, arrivedAt: seconds(0), marks: [MARK] });
  await run.made(aReceiver(always), VIRTUAL_MACHINES);
  await run.made(aWaitingVmi(arrived), WHOLE_VMIS);
  const { admin } = run.models.source;
  const name = { namespace: 'vms', name: 'web' };
  const { kind, apiVersion, spec } = (await run.vm()) ?? always(aReceiver());
  await admin.delete(VIRTUAL_MACHINES, name);
  await admin.create(VIRTUAL_MACHINES, { kind, apiVersion, spec, metadata: name } as never);
  await run.resync();
  const [vm] = (await run.migration()).status?.vms ?? [];
  expect(vm?.conditions).toMatchObject([
    { type: 'CutOver' },
    { category: 'Critical', reason: 'SourceStartedAgain' },
  ]);
  expect((await run.held()).sort()).toEqual(HELD);
  await admin.patch(VIRTUAL_MACHINES, name, { merge: { spec: { runStrategy: 'Halted' } } });
  await run.resync();
  expect(conditionsOf((await run.migration()).status)).toContain('Succeeded');
  expect(await run.held()).toEqual([]);
});
