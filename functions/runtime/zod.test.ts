import { afterEach, expect, jest, test } from '@jest/globals';
import * as z from './zod.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

const reference = z.object({ name: z.string(), count: z.int() });

test('a schema compiles no parser', () => {
  const compile = jest.spyOn(globalThis, 'Function');
  const schema = z.object({ items: z.array(reference) });
  const value = { items: [{ name: 'a', count: 1 }] };
  expect(schema.parse(value)).toEqual(value);
  expect(compile).not.toHaveBeenCalled();
});

test('a problem has an English text', () => {
  const { error } = reference.safeParse({ name: 1, count: 1.5 });
  expect(error?.issues.map(({ message }) => message)).toEqual([
    'Invalid input: expected string, received number',
    'Invalid input: expected int, received number',
  ]);
});
