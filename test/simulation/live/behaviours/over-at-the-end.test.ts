import { expect, test } from '@jest/globals';
import { aReceiver, arrived, aWaitingVmi } from '../../../support/builders/live-run.ts';
import { seconds } from '../../../support/builders/object.ts';
import { VIRTUAL_MACHINES, WHOLE_VMIS } from '../../../../functions/kubernetes/live-resources.ts';
import { RESOURCE_QUOTAS } from '../../../../functions/kubernetes/resources.ts';
import { always, conditionsOf, MARK, ModelledRun } from '../world/modelled-run.ts';

/** A VM that has arrived in a namespace that is over its quota by one pod. */
async function arrivedOver(): Promise<ModelledRun> {
  const run = await ModelledRun.start({ attempt: 1, arrivedAt: seconds(0), marks: [MARK] });
  await run.made(aReceiver(always), VIRTUAL_MACHINES);
  await run.made(aWaitingVmi(arrived), WHOLE_VMIS);
  const { admin } = run.models.destination;
  const at = { namespace: 'target', name: 'quota' };
  await admin.create(RESOURCE_QUOTAS, { metadata: at, spec: { hard: { pods: '1' } } });
  const merge = { status: { hard: { pods: '1' }, used: { pods: '2' } } };
  await admin.patch(RESOURCE_QUOTAS, at, { merge, subresource: 'status' });
  return run;
}

test('a VM that is over its quota says so at the end, where its source VM was deleted', async () => {
  const run = await arrivedOver();
  await run.models.source.admin.delete(VIRTUAL_MACHINES, { namespace: 'vms', name: 'web' });
  await run.resync();
  const said = conditionsOf((await run.migration()).status);
  const [vm] = (await run.migration()).status?.vms ?? [];
  expect(said).toContain('Succeeded');
  expect(vm?.conditions?.map(({ type }) => type)).toContain('RestartWouldBeRefused');
});
