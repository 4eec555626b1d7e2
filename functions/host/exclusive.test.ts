import { expect, test } from '@jest/globals';
import { newExclusively } from './exclusive.ts';

test('a second call under the same key answers at once; another key runs', async () => {
  const exclusively = newExclusively();
  const first = Promise.withResolvers<string>();
  const running = exclusively('a', () => first.promise, 'busy');
  const never = (): Promise<string> => Promise.reject(new Error('must not run'));
  expect(await exclusively('a', never, 'busy')).toBe('busy');
  expect(await exclusively('b', () => Promise.resolve('ran'), 'busy')).toBe('ran');
  first.resolve('ran');
  expect(await running).toBe('ran');
});

test('the key is free again when the work has ended, however it ended', async () => {
  const exclusively = newExclusively();
  const failing = exclusively('a', () => Promise.reject(new Error('no')), 'busy');
  await expect(failing).rejects.toThrow('no');
  expect(await exclusively('a', () => Promise.resolve('ran'), 'busy')).toBe('ran');
});
