import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ValueCounter } from './bounds.ts';
import { SharedMemory } from './budget.ts';
import { Busy } from './errors.ts';

const MAX = { values: 1_000_000, depth: 1_000 };

function counted(text: string, bytes: number, { values, depth } = MAX): number {
  const counter = new ValueCounter(values, { depth });
  const whole = Buffer.from(text);
  for (let from = 0; from < whole.length; from += bytes) counter.add(whole.subarray(from, from + bytes));
  return counter.values;
}

/** The commas and opening brackets of a value's text that are not in strings. */
function wanted(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const parts: unknown[] = Object.values(value);
  return 1 + Math.max(0, parts.length - 1) + parts.reduce<number>((sum, part) => sum + wanted(part), 0);
}

describe('ValueCounter', () => {
  test.each([
    ['[]', 1],
    ['{"a":1,"b":[1,2,3]}', 4 + 1],
    [String.raw`{"a\"}],[{":"\\","b\\\"":"x,y"}`, 2],
  ])('%s', (text, values) => {
    for (const bytes of [1, 2, 3, 100]) expect(counted(text, bytes)).toBe(values);
  });

  test('counts the same, whatever the pieces are', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 20 }), (value, bytes) => {
        const text = JSON.stringify(value);
        expect(counted(text, bytes)).toBe(wanted(JSON.parse(text)));
      }),
    );
  });

  test('throws at the first value, and at the first level, beyond the limit', () => {
    expect(() => counted('[1,2,3]', 1, { ...MAX, values: 3 })).not.toThrow();
    expect(() => counted('[1,2,3]', 1, { ...MAX, values: 2 })).toThrow('too many values');
    expect(() => counted('[[[]]]', 1, { ...MAX, depth: 3 })).not.toThrow();
    expect(() => counted('[[[]]]', 1, { ...MAX, depth: 2 })).toThrow('too many values');
  });
});

describe('SharedMemory', () => {
  test('refuses a tenant that has more than an equal part, and no other', () => {
    const memory = new SharedMemory(100);
    const [large, small] = [memory.newBudget(), memory.newBudget()];
    large.take(90);
    small.take(20);
    expect(() => large.take(1)).toThrow(Busy);
    small.take(30);
    expect(() => small.take(1)).toThrow(Busy);
    large.free(90);
    small.take(50);
    expect(memory.total).toBe(100);
  });
});
