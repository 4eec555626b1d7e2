import { expect, test } from '@jest/globals';
import type { ReadyEvent } from '../../eventing/post.ts';
import { resyncEventOf } from '../../eventing/live-events.ts';
import type { Clock } from '../../runtime/clock.ts';
import { LatestPosts } from './latest-posts.ts';

/** A clock by which every wait is over at once. */
const clock: Clock = {
  elapsed: () => 0,
  now: () => new Date(0),
  after: (_, work) => {
    setImmediate(work);
    return () => undefined;
  },
};
const event = (name: string): ReadyEvent => resyncEventOf({ kind: 'Plan', namespace: 'tenant', name }, 0);
const nameOf = ({ subject = '' }: ReadyEvent): string => subject.replace('tenant/', '');
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

test('while one event of an object is posted, only the newest of the next ones is kept', async () => {
  const posted: string[] = [];
  const first = Promise.withResolvers<undefined>();
  const post = async (one: ReadyEvent): Promise<void> => {
    posted.push(nameOf(one));
    if (nameOf(one) === '1') await first.promise;
  };
  const posts = new LatestPosts({ post, clock, log: () => undefined });
  for (const id of ['1', '2', '3']) posts.add('object', event(id));
  posts.add('other', event('o'));
  first.resolve(undefined);
  await settled();
  expect(posted).toEqual(['1', 'o', '3']);
});

test('an event that the Broker refuses is posted again, until there is a newer one', async () => {
  const posted: string[] = [];
  let isDown = true;
  const post = (one: ReadyEvent): Promise<void> => {
    posted.push(nameOf(one));
    return isDown ? Promise.reject(new Error('down')) : Promise.resolve();
  };
  const posts = new LatestPosts({ post, clock, log: () => undefined });
  posts.add('object', event('1'));
  await settled();
  expect(new Set(posted)).toEqual(new Set(['1']));
  expect(posted.length).toBe(10);
  isDown = false;
  posts.add('object', event('2'));
  await settled();
  expect(posted.at(-1)).toBe('2');
});
