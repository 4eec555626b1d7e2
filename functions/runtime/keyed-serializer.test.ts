import { expect, test } from '@jest/globals';
import type { Clock } from './clock.ts';
import { KeyedSerializer, type Serialized, type SerializationKey } from './keyed-serializer.ts';

/** Time passes when the test says so. */
function aClock(): Clock & { advance: () => void } {
  const due = new Set<() => void>();
  return {
    elapsed: () => 0,
    now: () => new Date(0),
    after: (_ms, work) => {
      due.add(work);
      return () => due.delete(work);
    },
    advance: () => {
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

/** Everything that can happen by itself has happened. */
const allTasks = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const own = (result: string): Serialized<string> => ({ result, isShared: false });

const hasBegun = async ({ begun }: Work): Promise<boolean> =>
  Promise.race([begun.then(() => true), allTasks().then(() => false)]);

const anEnd = (dedupeKey: string): SerializationKey => ({ key: 'lower tenant', dedupeKey });

test('a run of the same key begins when the one before has ended, however it ended', async () => {
  const serializer = new KeyedSerializer(aClock());
  const [first, second, third] = [aWork('1'), aWork('2'), aWork('3')];
  const results = [first, second, third].map(({ work }, index) =>
    serializer.serialize(anEnd(`why ${index}`), work),
  );
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

test('a call shares an equal run that still waits, but not one that has begun', async () => {
  const serializer = new KeyedSerializer(aClock());
  const [first, second, third] = [aWork('1'), aWork('2'), aWork('3')];
  const begun = serializer.serialize(anEnd('update'), first.work);
  const waits = serializer.serialize(anEnd('update'), second.work);
  const shares = serializer.serialize(anEnd('update'), third.work);
  first.end();
  expect([await begun, await hasBegun(second)]).toEqual([own('1'), true]);
  second.end();
  expect([await waits, await shares]).toEqual([own('2'), { result: '2', isShared: true }]);
  expect(await hasBegun(third)).toBe(false);
});

test('a run that has waited for another one waits its gap too, and calls share it meanwhile', async () => {
  const clock = aClock();
  const serializer = new KeyedSerializer(clock);
  const [first, second, third] = [aWork('1'), aWork('2'), aWork('3')];
  const of = { ...anEnd('update'), gapMs: () => 100 };
  const begun = serializer.serialize(of, first.work);
  const waits = serializer.serialize(of, second.work);
  expect(await hasBegun(first)).toBe(true);
  first.end();
  expect([await begun, await hasBegun(second)]).toEqual([own('1'), false]);
  const shares = serializer.serialize(anEnd('update'), third.work);
  clock.advance();
  expect([await hasBegun(second), await hasBegun(third)]).toEqual([true, false]);
  second.end();
  expect([await waits, await shares]).toEqual([own('2'), { result: '2', isShared: true }]);
});

test('calls that share a failing run fail too, and the next call runs again', async () => {
  const serializer = new KeyedSerializer(aClock());
  const [first, second, third, fourth] = [aWork('1'), aWork('2'), aWork('3'), aWork('4')];
  const results = [first, second, third].map(({ work }) => serializer.serialize(anEnd('update'), work));
  const failed = [1, 2].map((index) => expect(results[index]).rejects.toThrow('lost'));
  first.end();
  second.end(new Error('lost'));
  await Promise.all(failed);
  fourth.end();
  expect(await serializer.serialize(anEnd('update'), fourth.work)).toEqual(own('4'));
});

test('different keys do not wait for each other', async () => {
  const serializer = new KeyedSerializer(aClock());
  const [one, other] = [aWork('one'), aWork('other')];
  const results = [
    serializer.serialize({ key: 'lower a', dedupeKey: 'update' }, one.work),
    serializer.serialize({ key: 'lower b', dedupeKey: 'update' }, other.work),
  ];
  expect([await hasBegun(one), await hasBegun(other)]).toEqual([true, true]);
  one.end();
  other.end();
  expect(await Promise.all(results)).toEqual(['one', 'other'].map(own));
});

test('a run that hangs blocks the next one only so long', async () => {
  const clock = aClock();
  const serializer = new KeyedSerializer(clock);
  const [hanging, next] = [aWork('hanging'), aWork('next')];
  void serializer.serialize(anEnd('update'), hanging.work);
  const result = serializer.serialize(anEnd('update'), next.work);
  expect(await hasBegun(next)).toBe(false);
  clock.advance();
  expect(await hasBegun(next)).toBe(true);
  next.end();
  expect(await result).toEqual(own('next'));
});
