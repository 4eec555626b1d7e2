import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { aPlanMigration } from '../../test/support/builders/live.ts';
import { metadata, named, seconds } from '../../test/support/builders/object.ts';
import { referenceEventOf } from '../eventing/live-events.ts';
import type { ResourceType } from '../kubernetes/cluster.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { PLANS } from '../kubernetes/live-resources.ts';
import { systemClock } from '../runtime/clock.ts';
import type { LiveContext } from './context.ts';
import { newLiveFunction } from './function.ts';

test('of 100 Migrations that run and whose Plan is gone, twenty are reconciled at once, and each once', async () => {
  const migrations = Array.from({ length: 100 }, (_, n) => ({
    ...aPlanMigration(named(`m-${String(n)}`)),
    status: { started: seconds(0) },
  }));
  const counts = { open: 0, maxOpen: 0, all: 0 };
  const hub = {
    list: () => Promise.resolve({ items: migrations, resourceVersion: '1', date: new Date(0) }),
    get: async ({ kind }: ResourceType, { name }: { readonly name: string }) => {
      if (kind === 'Migration') {
        counts.all += 1;
        counts.open += 1;
        counts.maxOpen = Math.max(counts.maxOpen, counts.open);
        await turn();
        counts.open -= 1;
      }
      throw new ApiError('get', { code: 404, reason: 'NotFound', details: { name } }, new Date(0));
    },
  };
  const context = { hub, clock: systemClock, log: () => undefined, post: () => Promise.resolve() };
  const handle = newLiveFunction(context as unknown as LiveContext);
  const object = { metadata: { ...metadata('plan'), namespace: 'tenant' } };
  const gone = referenceEventOf({ change: 'delete', object, type: PLANS, cluster: 'hub', runs: [] });
  expect(await handle({}, gone)).toBeUndefined();
  expect(counts).toEqual({ open: 0, maxOpen: 20, all: 100 });
});
