import { describe, expect, test } from '@jest/globals';
import type { Clock } from '../../functions/runtime/clock.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { Unreachable } from '../../functions/kubernetes/errors.ts';
import { newReadiness } from './readiness.ts';

type Get = () => Promise<unknown>;

/** Time stands still but for what the test lets pass. */
function newTime(): Clock & { advance: (ms: number) => void } {
  let at = 0;
  let waiting: { at: number; work: () => void }[] = [];
  return {
    elapsed: () => at,
    now: () => new Date(at),
    after: (ms, work) => {
      const entry = { at: at + ms, work };
      waiting.push(entry);
      return () => (waiting = waiting.filter((each) => each !== entry));
    },
    advance: (ms) => {
      at += ms;
      for (const { work } of waiting.filter((each) => each.at <= at)) work();
    },
  };
}

function start(get: Get, problem: () => string | undefined = () => undefined) {
  const clock = newTime();
  let asked = 0;
  const counted: Get = () => {
    asked += 1;
    return get();
  };
  const cluster = { get: counted } as unknown as Cluster;
  const ready = newReadiness({ cluster, problem, withinMs: 2_000, clock });
  return { ready, clock, asked: () => asked };
}

describe('newReadiness', () => {
  test('ready when a namespace can be read', async () => {
    expect(await start(() => Promise.resolve({})).ready()).toBeUndefined();
  });

  test('not when it cannot', async () => {
    const { ready } = start(() => Promise.reject(new Unreachable('nobody there')));
    expect(await ready()).toContain('nobody there');
  });

  test('not when there is no answer in time', async () => {
    const { ready, clock } = start(() => new Promise(() => undefined));
    const answer = ready();
    clock.advance(2_000);
    expect(await answer).toContain('in time');
  });

  test('what is known to stand in the way is said without asking', async () => {
    const { ready, asked } = start(
      () => Promise.resolve({}),
      () => 'no certificate',
    );
    expect(await ready()).toBe('no certificate');
    expect(asked()).toBe(0);
  });

  test('whoever asks again at once gets the same answer; later it is asked anew', async () => {
    let get: Get = () => Promise.resolve({});
    const { ready, clock, asked } = start(() => get());
    await Promise.all([ready(), ready(), ready()]);
    expect(asked()).toBe(1);
    get = () => Promise.reject(new Unreachable('gone'));
    clock.advance(501);
    expect(await ready()).toContain('gone');
    expect(asked()).toBe(2);
  });
});
