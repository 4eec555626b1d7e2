import { expect, test } from '@jest/globals';
import type { Cluster } from '../kubernetes/cluster.ts';
import type { Level } from '../runtime/log.ts';
import { readSettings } from '../runtime/settings.ts';
import { newStepContext, type StepRuntime } from './step-context.ts';

function startRuntime(logged: [Level, string][] = []): StepRuntime {
  return newStepContext({
    cluster: {} as Cluster,
    settings: readSettings({ STEP: 'lock' }),
    log: (level, message) => logged.push([level, message]),
  });
}

test('drain waits for all background work, and for the work that it starts', async () => {
  const { context, drain } = startRuntime();
  const [first, second] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const done: string[] = [];
  context.inBackground(async () => {
    await first.promise;
    context.inBackground(async () => {
      await second.promise;
      done.push('second');
    });
    done.push('first');
    // Only after drain could have been satisfied with the first.
    setImmediate(() => second.resolve(undefined));
  });
  const drained = drain().then(() => done.push('settled'));
  first.resolve(undefined);
  await drained;
  expect(done).toEqual(['first', 'second', 'settled']);
});

test('background work starts after the reply of its step, and drain waits for it', async () => {
  const { context, drain } = startRuntime();
  const done: string[] = [];
  const step = async (): Promise<void> => {
    await Promise.resolve();
    context.inBackground(async () => {
      await Promise.resolve();
      done.push('report');
    });
  };
  await step().then(() => done.push('reply'));
  expect(done).toEqual(['reply']);
  await drain();
  expect(done).toEqual(['reply', 'report']);
});

test('work that fails is logged, and stops nothing', async () => {
  const logged: [Level, string][] = [];
  const { context, drain } = startRuntime(logged);
  context.inBackground(() => Promise.reject(new Error('no Event')));
  await drain();
  expect(logged).toEqual([['warn', 'a report failed: Error: no Event']]);
});

test('each token is another', () => {
  const { context } = startRuntime();
  expect(context.newToken()).toMatch(/^[0-9a-f-]{36}$/);
  expect(context.newToken()).not.toBe(context.newToken());
});

test('without a Broker nothing can be posted', async () => {
  const event = { type: 'io.kubevirt.mtq.namespace.unlocked', from: 'unlock', namespace: 'tenant' } as const;
  await expect(startRuntime().context.post(event)).rejects.toThrow('K_SINK is not set');
});
