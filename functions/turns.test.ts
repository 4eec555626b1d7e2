import { expect, test } from '@jest/globals';
import type { Clock } from './clock.ts';
import { Turns } from './turns.ts';

/** Time passes when the test says so. */
function aClock(): Clock & { pass: () => void } {
  const due = new Set<() => void>();
  return {
    elapsed: () => 0,
    now: () => new Date(0),
    after: (_ms, work) => {
      due.add(work);
      return () => due.delete(work);
    },
    pass: () => {
      for (const work of due) work();
    },
  };
}

interface Work {
  readonly begun: Promise<undefined>;
  readonly work: () => Promise<string>;
  end: (how?: Error) => void;
}

function aWork(name: string): Work {
  const [begun, ended] = [Promise.withResolvers<undefined>(), Promise.withResolvers<string>()];
  return {
    begun: begun.promise,
    work: () => {
      begun.resolve(undefined);
      return ended.promise;
    },
    end: (how) => (how === undefined ? ended.resolve(name) : ended.reject(how)),
  };
}

/** All that can happen by itself has happened. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const hasBegun = async ({ begun }: Work): Promise<boolean> =>
  Promise.race([begun.then(() => true), settled().then(() => false)]);

test('of the same key one begins when the one before has ended, however it ended', async () => {
  const turns = new Turns(aClock());
  const [first, second, third] = [aWork('1'), aWork('2'), aWork('3')];
  const results = [first, second, third].map(({ work }) => turns.take('lower tenant', work));
  const failed = expect(results[1]).rejects.toThrow('lost');
  expect([await hasBegun(first), await hasBegun(second)]).toEqual([true, false]);
  first.end();
  expect([await hasBegun(second), await hasBegun(third)]).toEqual([true, false]);
  second.end(new Error('lost'));
  await failed;
  expect(await hasBegun(third)).toBe(true);
  third.end();
  expect([await results[0], await results[2]]).toEqual(['1', '3']);
});

test('of another key nobody waits', async () => {
  const turns = new Turns(aClock());
  const [one, other] = [aWork('one'), aWork('other')];
  const results = [turns.take('lower a', one.work), turns.take('lower b', other.work)];
  expect([await hasBegun(one), await hasBegun(other)]).toEqual([true, true]);
  one.end();
  other.end();
  expect(await Promise.all(results)).toEqual(['one', 'other']);
});

test('what hangs is waited for only so long', async () => {
  const clock = aClock();
  const turns = new Turns(clock);
  const [hanging, next] = [aWork('hanging'), aWork('next')];
  void turns.take('lower tenant', hanging.work);
  const result = turns.take('lower tenant', next.work);
  expect(await hasBegun(next)).toBe(false);
  clock.pass();
  expect(await hasBegun(next)).toBe(true);
  next.end();
  expect(await result).toBe('next');
});
