import { expect, test } from '@jest/globals';
import type { Clock } from './clock.ts';
import { Turns, type Taken, type Turn } from './turns.ts';

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

const own = (result: string): Taken<string> => ({ result, isShared: false });

const hasBegun = async ({ begun }: Work): Promise<boolean> =>
  Promise.race([begun.then(() => true), settled().then(() => false)]);

const anEnd = (why: string): Turn => ({ who: 'lower tenant', why });

test('for the same one begins when the one before has ended, however it ended', async () => {
  const turns = new Turns<string>(aClock());
  const [first, second, third] = [aWork('1'), aWork('2'), aWork('3')];
  const results = [first, second, third].map(({ work }, index) => turns.take(anEnd(`why ${index}`), work));
  const failed = expect(results[1]).rejects.toThrow('lost');
  expect([await hasBegun(first), await hasBegun(second)]).toEqual([true, false]);
  first.end();
  expect([await hasBegun(second), await hasBegun(third)]).toEqual([true, false]);
  second.end(new Error('lost'));
  await failed;
  expect(await hasBegun(third)).toBe(true);
  third.end();
  expect([await results[0], await results[2]]).toEqual(['1', '3'].map(own));
});

test('who asks for what still waits for its turn shares it; who asks for what has begun does not', async () => {
  const turns = new Turns<string>(aClock());
  const [first, second, third] = [aWork('1'), aWork('2'), aWork('3')];
  const begun = turns.take(anEnd('update'), first.work);
  const waits = turns.take(anEnd('update'), second.work);
  const shares = turns.take(anEnd('update'), third.work);
  first.end();
  expect([await begun, await hasBegun(second)]).toEqual([own('1'), true]);
  second.end();
  expect([await waits, await shares]).toEqual([own('2'), { result: '2', isShared: true }]);
  expect(await hasBegun(third)).toBe(false);
});

test('who shares what fails fails too, and the next begins anew', async () => {
  const turns = new Turns<string>(aClock());
  const [first, second, third, fourth] = [aWork('1'), aWork('2'), aWork('3'), aWork('4')];
  const results = [first, second, third].map(({ work }) => turns.take(anEnd('update'), work));
  const failed = [1, 2].map((index) => expect(results[index]).rejects.toThrow('lost'));
  first.end();
  second.end(new Error('lost'));
  await Promise.all(failed);
  fourth.end();
  expect(await turns.take(anEnd('update'), fourth.work)).toEqual(own('4'));
});

test('nobody waits for another', async () => {
  const turns = new Turns<string>(aClock());
  const [one, other] = [aWork('one'), aWork('other')];
  const results = [
    turns.take({ who: 'lower a', why: 'update' }, one.work),
    turns.take({ who: 'lower b', why: 'update' }, other.work),
  ];
  expect([await hasBegun(one), await hasBegun(other)]).toEqual([true, true]);
  one.end();
  other.end();
  expect(await Promise.all(results)).toEqual(['one', 'other'].map(own));
});

test('what hangs is waited for only so long', async () => {
  const clock = aClock();
  const turns = new Turns<string>(clock);
  const [hanging, next] = [aWork('hanging'), aWork('next')];
  void turns.take(anEnd('update'), hanging.work);
  const result = turns.take(anEnd('update'), next.work);
  expect(await hasBegun(next)).toBe(false);
  clock.pass();
  expect(await hasBegun(next)).toBe(true);
  next.end();
  expect(await result).toEqual(own('next'));
});
