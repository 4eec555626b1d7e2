import { expect, test } from '@jest/globals';
import type { Cluster } from '../kubernetes/cluster.ts';
import type { Level } from '../runtime/log.ts';
import { readSettings } from '../runtime/settings.ts';
import { newTools, type Toolbox } from './tools.ts';

function equipped(logged: [Level, string][] = []): Toolbox {
  return newTools({
    cluster: {} as Cluster,
    settings: readSettings({ STEP: 'lock' }),
    log: (level, message) => logged.push([level, message]),
  });
}

test('settle waits for all work that nobody waits for, and for what that work leaves behind', async () => {
  const { tools, settle } = equipped();
  const [first, second] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const done: string[] = [];
  tools.afterwards(async () => {
    await first.promise;
    tools.afterwards(async () => {
      await second.promise;
      done.push('second');
    });
    done.push('first');
    // Only when settle has had every chance to be content with the first.
    setImmediate(() => second.resolve(undefined));
  });
  const settled = settle().then(() => done.push('settled'));
  first.resolve(undefined);
  await settled;
  expect(done).toEqual(['first', 'second', 'settled']);
});

test('work that fails is logged, and stops nothing', async () => {
  const logged: [Level, string][] = [];
  const { tools, settle } = equipped(logged);
  tools.afterwards(() => Promise.reject(new Error('no Event')));
  await settle();
  expect(logged).toEqual([['warn', 'a report failed: Error: no Event']]);
});

test('each token is another', () => {
  const { tools } = equipped();
  expect(tools.newToken()).toMatch(/^[0-9a-f-]{36}$/);
  expect(tools.newToken()).not.toBe(tools.newToken());
});

test('without a Broker nothing can be posted', async () => {
  const event = { type: 'io.kubevirt.mtq.namespace.unlocked', from: 'unlock', namespace: 'tenant' } as const;
  await expect(equipped().tools.post(event)).rejects.toThrow('K_SINK is not set');
});
