import type { IncomingMessage } from 'node:http';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { BodyBudget } from './body-budget.ts';

const KIB = 1024;
const API_SERVER = 'api-server';

let budget: BodyBudget;
let dropped: string[];

interface Body {
  readonly from?: string;
  readonly isWhole?: boolean;
}

const request = (name: string, { from = 'a pod', isWhole = false }: Body = {}): IncomingMessage =>
  ({
    complete: isWhole,
    socket: { remoteAddress: from },
    destroy: () => dropped.push(name),
  }) as unknown as IncomingMessage;
const whole = (name: string, from?: string): IncomingMessage =>
  request(name, { isWhole: true, ...(from === undefined ? {} : { from }) });

beforeEach(() => {
  budget = new BodyBudget({ maxBytes: 10, isFirst: (address) => address === API_SERVER });
  dropped = [];
});

describe('a full budget', () => {
  test('drops the oldest bodies that are not whole, and no more than needed', () => {
    const [oldest, second, third] = [request('oldest'), request('second'), request('third')];
    expect(budget.take(oldest, 4) && budget.take(second, 4) && budget.take(oldest, 2)).toBe(true);
    expect([budget.take(third, 4), dropped]).toEqual([true, ['oldest']]);
    expect([budget.take(third, 2), dropped]).toEqual([true, ['oldest']]);
    expect([budget.take(third, 1), dropped]).toEqual([true, ['oldest', 'second']]);
  });

  test('drops a body that alone needs more', () => {
    expect([budget.take(request('large'), 11), dropped]).toEqual([false, ['large']]);
    expect([budget.take(request('next'), 10), dropped]).toEqual([true, ['large']]);
  });

  test('drops one of the address that holds most, the largest that waits if all are whole', () => {
    for (const size of [2, 3, 2]) budget.take(whole(`${String(size)} of many`, 'many'), size);
    budget.take(request('first', { from: 'one' }), 3);
    expect([budget.take(request('next', { from: 'other' }), 1), dropped]).toEqual([true, ['3 of many']]);
  });

  test('drops none that is at work, and refuses', () => {
    const atWork = whole('at work');
    budget.take(atWork, 10);
    budget.use(atWork);
    const next = whole('next', 'other');
    budget.use(next);
    expect([budget.take(next, 1), dropped]).toEqual([false, ['next']]);
    budget.free(atWork);
    expect(budget.take(whole('last'), 10)).toBe(true);
  });

  test('drops bodies of other clients for an API server’s, however much that has', () => {
    budget.take(whole('of the API server', API_SERVER), 8);
    budget.take(whole('waits'), 2);
    expect([budget.take(whole('another of it', API_SERVER), 2), dropped]).toEqual([true, ['waits']]);
    expect([budget.take(whole('later'), 1), dropped]).toEqual([false, ['waits', 'later']]);
  });
});

describe('large bodies', () => {
  const atWork = (bytes: number, from?: string): boolean => {
    const body = whole('at work', from);
    budget.use(body);
    const isTaken = budget.take(body, bytes);
    budget.use(body);
    return isTaken;
  };

  beforeEach(() => {
    budget = new BodyBudget({ maxBytes: 6 * 1024 * KIB, isFirst: (address) => address === API_SERVER });
    expect(atWork(5 * 1024 * KIB)).toBe(true);
  });

  test('leave a sixth to small ones', () => {
    expect(atWork(300 * KIB)).toBe(false);
    expect(atWork(200 * KIB)).toBe(true);
  });

  test('and to those of API servers', () => {
    expect(atWork(1024 * KIB, API_SERVER)).toBe(true);
  });

  test('drop no small body that still arrives', () => {
    expect(budget.take(request('small'), 20 * KIB)).toBe(true);
    budget.take(request('large'), 300 * KIB);
    expect(dropped).toEqual(['large']);
  });
});
