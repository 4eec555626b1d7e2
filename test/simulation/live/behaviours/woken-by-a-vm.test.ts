import { describe, expect, test } from '@jest/globals';
import { PLAN_MIGRATIONS, VIRTUAL_MACHINES } from '../../../../functions/kubernetes/live-resources.ts';
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
  await run.changedThere('update', 'migration');
  const after = [await versionOf('migration'), await versionOf('other')];
  expect(after.map((version, index) => version === before[index])).toEqual([false, true]);
  await run.changedThere('update', 'migration', 'other');
  const { status } = (await run.hub.get(PLAN_MIGRATIONS, at('other'))).object;
  expect(conditionsOf(status)).toEqual(['Waiting WaitingToStart']);
});

test('the event of a VM that names no Migration is left to the guard', async () => {
  const run = await ModelledRun.start();
  await run.changedThere('update');
  expect(run.requests).toEqual([]);
  await run.changedThere('update', 'gone');
  expect(run.requests).toEqual([]);
});

describe('the event of a VM', () => {
  /** The run waits, and its last writes have been read again. */
  async function waiting(): Promise<ModelledRun> {
    const run = await ModelledRun.start();
    await run.resync();
    return run;
  }
  const asks = async (run: ModelledRun, change: 'update' | 'delete' = 'update'): Promise<boolean> => {
    const before = run.requests.length;
    await run.changedThere(change, 'migration');
    return run.requests.length > before;
  };

  test('at a version by which its run waits already is nothing new, such as of its own writes', async () => {
    const run = await waiting();
    expect([await asks(run), await asks(run)]).toEqual([false, false]);
  });

  test('at a later version is', async () => {
    const run = await waiting();
    const at = { namespace: 'vms', name: 'web' };
    const merge = { metadata: { labels: { changed: 'true' } } };
    await run.models.source.admin.patch(VIRTUAL_MACHINES, at, { merge });
    expect([await asks(run), await asks(run)]).toEqual([true, false]);
  });

  test('that is gone is, with the last version that was seen', async () => {
    expect(await asks(await waiting(), 'delete')).toBe(true);
  });

  test('is where the cluster could not be read', async () => {
    const run = await waiting();
    run.away.add('destination');
    await run.resync();
    expect([await asks(run), await asks(run)]).toEqual([true, true]);
  });

  test('is of no use to a Migration that has ended, of which the hub is asked once', async () => {
    const run = await waiting();
    await run.patchMigration({ spec: { cancel: [{ name: 'web', namespace: 'vms' }] } });
    await run.resync();
    await run.changedThere('update', 'migration');
    expect((await run.migration()).status?.completed).toBeDefined();
    let reads = 0;
    const { admin } = run.models.hub;
    const get = admin.get.bind(admin);
    const counted: typeof get = (...given) => {
      reads += 1;
      return get(...given);
    };
    await run.changedThere('update', 'migration');
    Object.assign(admin, { get: counted });
    await run.changedThere('delete', 'migration');
    // By the event itself: to name the Migration.
    expect(reads).toBe(1);
  });

  test('that any client posts about an ended Migration, with the uid of this one, hides none of this one', async () => {
    const run = await waiting();
    const { metadata, spec } = await run.migration();
    const { annotations = {} } = metadata;
    const status = { completed: '2026-11-20T00:00:00Z' };
    await run.hub.create(PLAN_MIGRATIONS, { metadata: { ...at('other'), annotations }, spec });
    const { object } = await run.hub.get(PLAN_MIGRATIONS, at('other'));
    await run.hub.replace(PLAN_MIGRATIONS, { ...object, status }, { subresource: 'status' });
    await run.changedThere('update', { name: 'other', uid: metadata.uid });
    expect(await asks(run, 'delete')).toBe(true);
  });

  test('does not hide what another event is about', async () => {
    const run = await waiting();
    const before = run.requests.length;
    // The second and the third one share what follows the first.
    await Promise.all([run.resync(), run.changedThere('update', 'migration'), run.resync()]);
    const readings = run.requests.slice(before).filter((one) => one === 'get VirtualMachine on source');
    expect(readings).toHaveLength(2);
  });
});
