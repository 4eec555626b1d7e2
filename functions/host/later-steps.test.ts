import { beforeEach, expect, test } from '@jest/globals';
import { newLaterSteps } from './later-steps.ts';

let now: number;
let asked: PromiseWithResolvers<readonly string[]>[];
let silentSteps: () => Promise<readonly string[]>;

beforeEach(() => {
  now = 0;
  asked = [];
  silentSteps = newLaterSteps(
    () => {
      const asking = Promise.withResolvers<readonly string[]>();
      asked.push(asking);
      return asking.promise;
    },
    { elapsed: () => now },
  );
});

test('calls at the same moment share one request, and no other follows for half a minute', async () => {
  const answers = [silentSteps(), silentSteps()];
  asked[0]?.resolve([]);
  expect(await Promise.all(answers)).toEqual([[], []]);
  now = 29_999;
  expect(await silentSteps()).toEqual([]);
  expect(asked).toHaveLength(1);
  now = 30_000;
  void silentSteps();
  expect(asked).toHaveLength(2);
});

test('a function that did not answer is asked again at once', async () => {
  const answer = silentSteps();
  asked[0]?.resolve(['http://raise']);
  expect(await answer).toEqual(['http://raise']);
  const next = silentSteps();
  asked[1]?.resolve([]);
  expect(await next).toEqual([]);
});
