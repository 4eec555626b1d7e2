import { describe, expect, test } from '@jest/globals';
import { mergePatch } from '../../model/merge-patch.ts';
import { ModelledRun } from '../world/modelled-run.ts';
import { PLAN_MIGRATIONS } from '../../../../functions/kubernetes/live-resources.ts';

describe('events that the Broker did not take', () => {
  /** To the end; with the events that were to be posted. */
  async function ended(isBrokerAway: boolean): Promise<ModelledRun> {
    const run = await ModelledRun.start();
    run.isBrokerAway = isBrokerAway;
    await run.patchMigration({ spec: { cancel: [{ name: 'web', namespace: 'vms' }] } });
    await run.resync();
    expect((await run.migration()).status?.completed).toBeDefined();
    return run;
  }
  const kindsOf = (run: ModelledRun): string[] => run.posted.map(({ type }) => type);

  test('are posted after the end, all of them and in order, and once', async () => {
    const run = await ended(true);
    expect(run.posted).toEqual([]);
    expect(await run.held()).toEqual([]);
    await run.resync();
    expect(run.posted).toEqual([]);
    run.isBrokerAway = false;
    await run.resync();
    expect(kindsOf(run)).toEqual(kindsOf(await ended(false)));
    expect(kindsOf(run)).toContain('io.kubevirt.mtq.live.canceled');
    expect((await run.migration()).status).not.toHaveProperty('outbox');
    await run.resync();
    expect(kindsOf(run)).toEqual(kindsOf(await ended(false)));
  });

  test('are left to the call that has written them, until it must have been stopped', async () => {
    const run = await ModelledRun.start();
    run.isBrokerAway = true;
    await run.resync();
    run.isBrokerAway = false;
    run.wait(9);
    await run.resync();
    expect(run.posted).toEqual([]);
    run.wait(1);
    await run.resync();
    expect(kindsOf(run)).toContain('io.kubevirt.mtq.live.started');
  });

  test.each([
    ['of another Migration', { data: { migration: { uid: 'other' } } }],
    ['of another type', { type: 'io.kubevirt.mtq.lock.expired' }],
  ])('an entry %s, which somebody has written, is dropped', async (_, change) => {
    const run = await ended(true);
    const { status } = await run.migration();
    const [entry] = status?.outbox ?? [];
    expect(entry).toBeDefined();
    const outbox = [mergePatch(entry, change)];
    await run.hub.patch(
      PLAN_MIGRATIONS,
      { namespace: 'tenant', name: 'migration' },
      { merge: { status: { outbox } }, subresource: 'status' },
    );
    run.isBrokerAway = false;
    await run.resync();
    expect(run.posted).toEqual([]);
    expect((await run.migration()).status).not.toHaveProperty('outbox');
  });
});

describe('each event is posted once', () => {
  const begun = async (run: ModelledRun): Promise<string[]> => {
    await run.resync();
    run.wait(60);
    await run.resync();
    expect((await run.migration()).status).not.toHaveProperty('outbox');
    return run.posted.flatMap((event) => ('id' in event ? [event.id] : []));
  };

  test('where somebody changes the Migration while they are posted, too', async () => {
    const expected = await begun(await ModelledRun.start());
    const run = await ModelledRun.start();
    let changes = 0;
    run.whenPosted = async () => {
      changes += 1;
      await run.patchMigration({ metadata: { labels: { changes: String(changes) } } });
    };
    const ids = (await begun(run)).map((id) => id.replace(/^[^/]+/, ''));
    expect(ids).toEqual(expected.map((id) => id.replace(/^[^/]+/, '')));
    expect(new Set(ids).size).toBe(ids.length);
    expect(changes).toBe(ids.length);
  });
});
