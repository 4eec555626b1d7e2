import { describe, expect, test } from '@jest/globals';
import type { Clock } from '../../functions/runtime/clock.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { Unreachable } from '../../functions/kubernetes/errors.ts';
import { newReadiness } from './readiness.ts';

type Get = () => Promise<unknown>;

/** A clock that only the test advances. */
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
  test('is ready when it can read a namespace', async () => {
    expect(await start(() => Promise.resolve({})).ready()).toBeUndefined();
  });

  test('is not ready when it cannot read a namespace', async () => {
    const { ready } = start(() => Promise.reject(new Unreachable('nobody there')));
    expect(await ready()).toContain('nobody there');
  });

  test('is not ready when the answer takes too long', async () => {
    const { ready, clock } = start(() => new Promise(() => undefined));
    const answer = ready();
    clock.advance(2_000);
    expect(await answer).toContain('in time');
  });

  test('reports a known problem without a request', async () => {
    const { ready, asked } = start(
      () => Promise.resolve({}),
      () => 'no certificate',
    );
    expect(await ready()).toBe('no certificate');
    expect(asked()).toBe(0);
  });

  test('gives the same answer to a probe soon after, and sends a new request later', async () => {
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
