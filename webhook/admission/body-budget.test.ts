import type { IncomingMessage } from 'node:http';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { BodyBudget } from './body-budget.ts';

let budget: BodyBudget;
let dropped: string[];

/** A request whose body is whole, or still arrives. */
const request = (name: string, complete = false): IncomingMessage =>
  ({ complete, destroy: () => dropped.push(name) }) as unknown as IncomingMessage;

beforeEach(() => {
  budget = new BodyBudget(10);
  dropped = [];
});

describe('the budget for bodies', () => {
  test('drops the oldest bodies that are not whole, and no more than needed', () => {
    const [oldest, second, third] = [request('oldest'), request('second'), request('third')];
    expect(budget.take(oldest, 4) && budget.take(second, 4) && budget.take(oldest, 2)).toBe(true);
    expect([budget.take(third, 4), dropped]).toEqual([true, ['oldest']]);
    expect([budget.take(third, 2), dropped]).toEqual([true, ['oldest']]);
    expect([budget.take(third, 1), dropped]).toEqual([true, ['oldest', 'second']]);
  });

  test('drops a body that alone needs more', () => {
    expect([budget.take(request('large'), 11), dropped]).toEqual([true, ['large']]);
    expect([budget.take(request('next'), 10), dropped]).toEqual([true, ['large']]);
  });

  test('refuses where only whole bodies are left, and drops none of them', () => {
    const whole = request('whole', true);
    expect(budget.take(whole, 10)).toBe(true);
    const next = request('next', true);
    expect([budget.take(next, 1), dropped]).toEqual([false, []]);
    budget.free(next);
    budget.free(whole);
    expect(budget.take(request('last', true), 10)).toBe(true);
  });

  describe('of 48 MiB', () => {
    const KIB = 1024;
    const MIB = 1024 * KIB;

    beforeEach(() => {
      budget = new BodyBudget();
      for (let index = 0; index < 8; index += 1) budget.take(request(`whole ${index}`, true), 5 * MIB);
    });

    test('keeps eight for small bodies', () => {
      expect(budget.take(request('large', true), 3 * MIB)).toBe(false);
      expect(budget.take(request('small', true), 200 * KIB)).toBe(true);
    });

    test('drops no small body for a large one that still arrives', () => {
      expect(budget.take(request('small'), 20 * KIB)).toBe(true);
      budget.take(request('large'), 300 * KIB);
      expect(dropped).toEqual(['large']);
    });
  });
});
