import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rawText } from '../../test/support/raw-text.ts';
import { StoredHub } from '../../test/support/live/hostile-hub.ts';
import { startHostileServer, WAYS, type HostileServer } from '../../test/support/live/hostile.ts';
import type { Provider } from '../domain/live/forklift.ts';
import { metadata } from '../../test/support/builders/object.ts';
import { referenceEventOf } from '../eventing/live-events.ts';
import type { Handle } from '../host/function.ts';
import { PROVIDERS } from '../kubernetes/live-resources.ts';
import { systemClock } from '../runtime/clock.ts';
import { newLiveFunction, Remotes } from './function.ts';

const MIB = 1024 * 1024;

let server: HostileServer;
beforeAll(async () => {
  server = await startHostileServer();
});
afterAll(async () => {
  await server.stop();
});

interface Function {
  /** Checks the Provider of this name; resolves with the name. */
  readonly check: (name: string) => Promise<string>;
  /** The conditions of the Provider, as texts. */
  readonly shown: (name: string) => string[];
}

/** `live` with a Provider for each way to answer, of its name. */
function functionOf(ways: readonly string[]): Function {
  const hub = new StoredHub();
  for (const way of ways) hub.addProvider(way.toLowerCase(), server.remote(way));
  const context = { clock: systemClock, log: () => undefined };
  const handle: Handle = newLiveFunction({
    ...context,
    hub: hub.cluster,
    remotes: new Remotes({
      ...context,
      isRefused: () => Promise.resolve(false),
      allowLoopback: true,
      maxKeptBytes: 24 * MIB,
      memoryBytes: 48 * MIB,
    }),
    post: () => Promise.resolve(),
    maxVmsInFlight: 20,
  });
  return {
    check: async (name) => {
      const object = { metadata: { ...metadata(name), namespace: 'tenant' } };
      await handle(
        {},
        referenceEventOf({ change: 'add', object, type: PROVIDERS, cluster: 'hub', runs: [] }),
      );
      return name;
    },
    shown: (name) =>
      (hub.get<Provider>('Provider', name)?.status?.conditions ?? []).map(
        ({ type, message }) => `${type}: ${rawText(message)}`,
      ),
  };
}

test('each way not to answer has the same condition, so that a Provider shows nothing of an address', async () => {
  const names = [...WAYS.quick, 'silent'].map((way) => way.toLowerCase());
  const { check, shown } = functionOf([...WAYS.quick, 'silent']);
  await Promise.all(names.map(check));
  const wanted = [
    'Validated: Validation has been completed.',
    'ConnectionTestFailed: The API server at spec.url cannot be reached, or is no API server.',
  ];
  expect(names.map((name) => [name, shown(name)])).toEqual(names.map((name) => [name, wanted]));
});

test('the check of a Provider is over before that of one which hangs, also if it began later', async () => {
  const ways = ['silent', 'trickle', 'trickledHeaders', 'good'];
  const { check, shown } = functionOf(ways);
  const ended: string[] = [];
  const checks = ways.map(async (way) => ended.push(await check(way.toLowerCase())));
  await Promise.all(checks);
  expect([ended[0], shown('good').at(-1)]).toEqual(['good', 'Ready: The provider is ready.']);
});

test('a text of 200 KB is not stored', async () => {
  const { check, shown } = functionOf(['text']);
  await check('text');
  expect(shown('text').join().length).toBeLessThan(2_000);
});
