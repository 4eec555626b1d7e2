import { expect, test } from '@jest/globals';
import type { WatchFrom } from '../../../functions/kubernetes/cluster.ts';
import { Unreachable } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { aModel, type Model } from './model.ts';

const make = async ({ admin }: Model, name: string): Promise<void> => {
  await admin.create(NAMESPACES, { metadata: { name } });
};

interface Seen {
  readonly names: string[];
  readonly over: AbortController;
  /** Resolves with the end of the watch, rejects when the connection broke. */
  readonly end: Promise<void>;
}

function watch({ server }: Model, from: Partial<WatchFrom> = {}): Seen {
  const names: string[] = [];
  const over = new AbortController();
  const look = async (): Promise<void> => {
    const events = server.as('watcher').watch(NAMESPACES, { resourceVersion: '1', ...from }, over.signal);
    for await (const { object } of events) names.push(object.metadata.name);
  };
  return { names, over, end: look() };
}

/** Resolves when no promise can make progress by itself. */
const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a watch sends earlier changes first, then new ones', async () => {
  const model = aModel();
  await make(model, 'before');
  const { names, over, end } = watch(model);
  await idle();
  await make(model, 'during');
  await idle();
  expect(names).toEqual(['before', 'during']);
  over.abort();
  await end;
});

test('a watch ends at its timeout by the cluster’s clock, and not before', async () => {
  const model = aModel();
  const { names, end } = watch(model, { timeoutSeconds: 10 });
  await idle();
  expect(model.server.nextWatchEnd()).toBe(model.clock.now + 10_000);
  model.clock.now += 9_999;
  model.server.endOverdueWatches();
  await make(model, 'in time');
  await idle();
  model.clock.now += 1;
  model.server.endOverdueWatches();
  await end;
  await make(model, 'too late');
  expect(names).toEqual(['in time']);
  expect(model.server.nextWatchEnd()).toBeUndefined();
});

test('a watch from a compacted version gets 410', async () => {
  const model = aModel();
  await make(model, 'one');
  model.store.compact(model.store.revision);
  await expect(watch(model).end).rejects.toMatchObject({ code: 410, reason: 'Expired' });
  const { over, end } = watch(model, { resourceVersion: String(model.store.revision) });
  await idle();
  over.abort();
  await end;
});

test('a watch fails with its server, as for a client whose API server restarts', async () => {
  const model = aModel();
  const { end } = watch(model);
  await idle();
  model.server.stop();
  await expect(end).rejects.toThrow(Unreachable);
});

test('each event of a watch is suspended, and an abort ends a suspended one', async () => {
  const suspended: string[] = [];
  const model = aModel({
    pace: ({ verb, phase }) => {
      if (verb !== 'watch' || phase !== 'answer') return Promise.resolve();
      suspended.push(phase);
      return new Promise(() => undefined);
    },
  });
  const { names, over, end } = watch(model);
  await make(model, 'one');
  await idle();
  expect([names, suspended]).toEqual([[], ['answer']]);
  over.abort();
  await end;
});
