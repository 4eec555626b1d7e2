import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { aPlan, aProvider } from '../../test/support/builders/live.ts';
import { metadata } from '../../test/support/builders/object.ts';
import { LIVE_EVENT } from '../domain/live/names.ts';
import type { KubernetesObject } from '../domain/objects.ts';
import { liveEvent, referenceEventOf } from '../eventing/live-events.ts';
import type { Handle } from '../host/function.ts';
import type { Address, ResourceType } from '../kubernetes/cluster.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { PROVIDERS } from '../kubernetes/live-resources.ts';
import { systemClock } from '../runtime/clock.ts';
import type { LiveContext } from './context.ts';
import { newLiveFunction } from './function.ts';

const PLAN = aPlan();
const { namespace = '', name } = PLAN.metadata;

interface Counted {
  readonly handle: Handle;
  /** The requests for each kind, and how many of them were for other objects. */
  readonly asked: (kind: string) => string[];
  readonly statusesWritten: () => number;
}

/** `live` at a hub with these objects, whose requests take a moment. Each list has all of the kind; no requester has a right. */
function counted(objects: readonly KubernetesObject[]): Counted {
  const date = new Date(0);
  const asked: string[] = [];
  let written = 0;
  const hub = {
    list: async ({ kind }: ResourceType) => {
      await turn();
      const items = objects.filter((object) => object.kind === kind);
      return { items, resourceVersion: '1', date };
    },
    get: async ({ kind }: ResourceType, at: Address) => {
      asked.push(`${kind} ${at.name}`);
      await turn();
      const found = objects.find((object) => object.kind === kind && object.metadata.name === at.name);
      if (found !== undefined) return { object: found, date };
      throw new ApiError('get', { code: 404, reason: 'NotFound', details: { name: at.name } }, date);
    },
    create: (_: ResourceType, object: object) =>
      Promise.resolve({ object: { ...object, status: { allowed: false } }, date }),
    replace: async (_: ResourceType, object: object) => {
      written += 1;
      await turn();
      return { object, date };
    },
  };
  const context = { hub, clock: systemClock, log: () => undefined, post: () => Promise.resolve() };
  return {
    handle: newLiveFunction({ ...context, remotes: { allowLoopback: false } } as unknown as LiveContext),
    asked: (kind) => asked.filter((one) => one.startsWith(`${kind} `)),
    statusesWritten: () => written,
  };
}

const plan = (of: string): KubernetesObject => ({
  ...PLAN,
  ...{ kind: 'Plan', metadata: { ...PLAN.metadata, name: of } },
});

test('of a hundred forged events of a Plan two check it, one after the other', async () => {
  const { handle, asked, statusesWritten } = counted([plan(name)]);
  const forged = Array.from({ length: 100 }, (_, n) =>
    liveEvent({
      ...{ type: LIVE_EVENT.resync, from: 'guard', about: { kind: 'Plan', namespace, name } },
      cause: String(n),
    }),
  );
  await Promise.all(forged.map((event) => handle({}, event)));
  expect([asked('Plan').length, statusesWritten()]).toEqual([2, 2]);
});

const eventOf = (provider: KubernetesObject): ReturnType<typeof referenceEventOf> =>
  referenceEventOf({ change: 'add', object: provider, type: PROVIDERS, cluster: 'hub', runs: [] });

const OBSERVED: KubernetesObject & { readonly status: object } = {
  ...aProvider('source'),
  ...{ kind: 'Provider', metadata: { ...metadata('source'), namespace, generation: 1 } },
  status: { observedGeneration: 1 },
};

test('an add of a Provider that was observed is no news: it costs one request', async () => {
  const { handle, asked, statusesWritten } = counted([OBSERVED, plan(name)]);
  await handle({}, eventOf(OBSERVED));
  expect([asked('Provider').length, asked('Plan').length, statusesWritten()]).toEqual([1, 0, 0]);
});

test('ten of the plans that name a Provider are checked by its event', async () => {
  const isNew = { ...OBSERVED, status: {} };
  const plans = Array.from({ length: 50 }, (_, n) => plan(`plan-${String(n)}`));
  const { handle, asked } = counted([isNew, ...plans]);
  await handle({}, eventOf(isNew));
  expect(asked('Plan')).toEqual(Array.from({ length: 10 }, (_, n) => `Plan plan-${String(n)}`));
});
