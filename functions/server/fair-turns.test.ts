import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { FairTurns } from './fair-turns.ts';

const API_SERVER = '10.0.0.1';

let turns: FairTurns;
let begun: string[];

beforeEach(() => {
  turns = new FairTurns({ isFirst: (address) => address === API_SERVER });
  begun = [];
});

const responseTo = (remoteAddress: string): ServerResponse =>
  Object.assign(new EventEmitter(), { req: { socket: { remoteAddress } } }) as unknown as ServerResponse;

/** A request that works for so many milliseconds, or until `end`. */
function send(address: string, workMs?: number): { end: () => void } {
  const ended = Promise.withResolvers<undefined>();
  const own = begun;
  void turns.take(responseTo(address)).then(async (end) => {
    own.push(address);
    await (workMs === undefined ? ended.promise : delay(workMs));
    end?.();
  });
  return { end: () => ended.resolve(undefined) };
}

/** Waits until so many requests have begun, and as long again as no more can begin. */
async function untilBegun(count: number): Promise<void> {
  while (begun.length < count) await delay(1);
  await delay(20);
  expect(begun).toHaveLength(count);
}

describe('turns', () => {
  test('an address has four requests at work, and the others wait', async () => {
    const own = Array.from({ length: 6 }, () => send('a'));
    send('b');
    await untilBegun(5);
    expect(begun.toSorted()).toEqual(['a', 'a', 'a', 'a', 'b']);
    own[0]?.end();
    await untilBegun(6);
  });

  test('all addresses together have sixteen, and an API server does not wait for them', async () => {
    for (let request = 0; request < 40; request += 1) send(String(request % 10));
    await untilBegun(16);
    send(API_SERVER);
    send(`::ffff:${API_SERVER}`);
    await untilBegun(18);
  });

  test('each address has the same share of the time, however much it asks for', async () => {
    for (let request = 0; request < 40; request += 1) send('busy', 20);
    while (begun.length < 4) await delay(1);
    for (let request = 0; request < 8; request += 1) send('other', 20);
    while (begun.filter((address) => address === 'other').length < 8) await delay(1);
    // Two rounds of four each, beside those that were at work before, and a round more at most.
    expect(begun.filter((address) => address === 'busy').length).toBeLessThanOrEqual(16);
  });

  test('one that is new is begun before those of an address that has used more', async () => {
    turns = new FairTurns({ max: 1 });
    for (let request = 0; request < 4; request += 1) send('busy', 20);
    while (begun.length < 2) await delay(1);
    send('new', 1);
    while (begun.length < 5) await delay(1);
    expect(begun.indexOf('new')).toBe(2);
  });

  test('one whose client has gone takes no turn', async () => {
    const own = Array.from({ length: 4 }, () => send('a'));
    await untilBegun(4);
    const response = responseTo('a');
    const gone = turns.take(response);
    response.emit('close');
    expect(await gone).toBeUndefined();
    send('a');
    own[0]?.end();
    await untilBegun(5);
  });
});
