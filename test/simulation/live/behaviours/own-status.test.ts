import { expect, test } from '@jest/globals';
import type { ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import { NETWORK_MAPS, PROVIDERS, STORAGE_MAPS } from '../../../../functions/kubernetes/live-resources.ts';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';

/** The source does not answer, for another reason each time. */
async function prepare(): Promise<ModelledRun> {
  const run = await ModelledRun.prepare();
  let times = 0;
  run.whyAway = () => `request ${String((times += 1))}`;
  run.away.add('source');
  return run;
}

test.each<['Provider' | 'StorageMap' | 'NetworkMap', ResourceType, string]>([
  ['Provider', PROVIDERS, 'source'],
  ['StorageMap', STORAGE_MAPS, 'storage'],
  ['NetworkMap', NETWORK_MAPS, 'networks'],
])('the event of a %s whose status alone has changed asks no cluster', async (kind, type, name) => {
  const run = await prepare();
  await run.changed(kind, name);
  const at = { namespace: 'tenant', name };
  const { object } = await run.hub.get(type, at);
  const asked = run.requests.length;
  await run.changed(kind, name);
  expect(run.requests.length - asked).toBe(0);
  expect((await run.hub.get(type, at)).object).toEqual(object);
});

test('a Provider that was changed is asked again, also after its status', async () => {
  const run = await prepare();
  await run.changed('Provider', 'source');
  const { metadata } = await run.provider('source');
  run.away.clear();
  await run.hub.patch(
    PROVIDERS,
    { namespace: 'tenant', name: metadata.name },
    {
      merge: { spec: { settings: { transferDeadline: '2h' } } },
    },
  );
  await run.changed('Provider', 'source');
  expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
});

test('the event of a plan that stays not Ready wakes no Migration that says so', async () => {
  const run = await prepare();
  await run.resync();
  expect(conditionsOf((await run.migration()).status)).toEqual(['PlanNotReady NotFound']);
  const asked = run.requests.length;
  await run.changed('Plan');
  expect(run.requests.length - asked).toBe(0);
});
