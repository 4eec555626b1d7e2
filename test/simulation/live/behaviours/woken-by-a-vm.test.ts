import { expect, test } from '@jest/globals';
import { PLAN_MIGRATIONS } from '../../../../functions/kubernetes/live-resources.ts';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';

const at = (name: string): { namespace: string; name: string } => ({ namespace: 'tenant', name });

test('the event of a VM brings the Migrations on that it names, and no other one', async () => {
  const run = await ModelledRun.start();
  const { metadata, spec } = await run.migration();
  const { annotations = {} } = metadata;
  await run.hub.create(PLAN_MIGRATIONS, { metadata: { ...at('other'), annotations }, spec });
  const versionOf = async (name: string): Promise<string> =>
    (await run.hub.get(PLAN_MIGRATIONS, at(name))).object.metadata.resourceVersion;
  const before = [await versionOf('migration'), await versionOf('other')];
  await run.changedThere('migration');
  const after = [await versionOf('migration'), await versionOf('other')];
  expect(after.map((version, index) => version === before[index])).toEqual([false, true]);
  await run.changedThere('migration', 'other');
  const { status } = (await run.hub.get(PLAN_MIGRATIONS, at('other'))).object;
  expect(conditionsOf(status)).toEqual(['Waiting WaitingToStart']);
});

test('the event of a VM that names no Migration, as of a watcher before this version, is left to the guard', async () => {
  const run = await ModelledRun.start();
  await run.changedThere();
  expect(run.requests).toEqual([]);
  await run.changedThere('gone');
  expect(run.requests).toEqual([]);
});
