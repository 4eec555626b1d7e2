import { describe, expect, test } from '@jest/globals';
import { ADVICE } from '../domain/advice.ts';
import { anEventReport } from '../../test/support/builders/event-report.ts';
import { ANNOTATION } from '../domain/names.ts';
import type { EventReport } from '../domain/verdict/report.ts';
import { eventMessage, eventName } from '../domain/verdict/written.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { systemClock } from '../runtime/clock.ts';
import type { Log } from '../runtime/log.ts';
import { writeEvents, writeNewEvents } from './report.ts';

const REPORT = anEventReport();

const fail: Log = (_, message) => {
  throw new Error(message);
};

/** The message of the Event that this report becomes. */
async function messageOf(different: Partial<EventReport>): Promise<string> {
  const messages: string[] = [];
  const create = (_: unknown, { message }: { message: string }): Promise<void> => {
    messages.push(message);
    return Promise.resolve();
  };
  const cluster = { create } as unknown as Cluster;
  await writeEvents({ cluster, clock: systemClock, log: fail }, [{ ...REPORT, ...different }]);
  return messages.join();
}

describe('an Event that exists already', () => {
  const at = { namespace: 'tenant', name: expect.stringMatching(/^mig0\./) };
  /** A tenant may have put another Event under its name. */
  const content = {
    involvedObject: REPORT.on,
    reason: REPORT.reason,
    type: REPORT.type,
    message: expect.stringMatching(/^quota lacks /),
    lastTimestamp: expect.any(String),
    source: { component: 'managed-tenant-quota' },
  };
  const verdict = '{"reason":"NotEnough"}';

  test.each<[string, Partial<EventReport>, unknown[]]>([
    ['is left as it is', {}, []],
    ['is written whole', { isUpdated: true }, [at, { merge: { metadata: {}, ...content } }]],
    [
      'is written whole, with the last verdict',
      { verdict, isUpdated: true },
      [at, { merge: { metadata: { annotations: { [ANNOTATION.verdict]: verdict } }, ...content } }],
    ],
  ])('%s', async (_, different, want) => {
    const patches: unknown[] = [];
    const cluster = {
      create: () =>
        Promise.reject(new ApiError('a create', { code: 409, reason: 'AlreadyExists' }, new Date())),
      patch: (...[, ...patch]: unknown[]) => Promise.resolve(void patches.push(...patch)),
    } as unknown as Cluster;
    await writeEvents({ cluster, clock: systemClock, log: fail }, [{ ...REPORT, ...different }]);
    expect(patches).toEqual(want);
  });
});

describe('reports that may be written already', () => {
  const names = (cluster: Partial<Cluster>, log: Log = fail): Promise<string[]> => {
    const created: string[] = [];
    const create = (_: unknown, { metadata }: { metadata: { name: string } }): Promise<void> =>
      Promise.resolve(void created.push(metadata.name));
    const all = { create, ...cluster } as unknown as Cluster;
    const reports = ['', 'second'].map((key): EventReport => ({ ...REPORT, key, isUpdated: true }));
    return writeNewEvents({ cluster: all, clock: systemClock, log }, 'tenant', reports).then(() => created);
  };
  const event = {
    metadata: { name: eventName(REPORT), resourceVersion: '7' },
    involvedObject: {},
    message: eventMessage(REPORT),
    lastTimestamp: new Date().toISOString(),
  };

  test('are updated where they are there with another text', async () => {
    const patched: unknown[] = [];
    const patch = (...[, at]: unknown[]): Promise<void> => Promise.resolve(void patched.push(at));
    const outdated = { ...event, message: 'quota lacks pods=2' };
    const list = (): Promise<unknown> => Promise.resolve({ items: [outdated] });
    const created = await names({ list, patch } as unknown as Partial<Cluster>);
    expect(patched).toEqual([{ name: eventName(REPORT), namespace: 'tenant' }]);
    expect(created).toEqual([eventName({ ...REPORT, key: 'second' })]);
  });

  test('are left out by one list', async () => {
    const listed: unknown[] = [];
    const list = (...[, where]: unknown[]): Promise<unknown> => {
      listed.push(where);
      return Promise.resolve({ items: [event] });
    };
    const created = await names({ list } as unknown as Partial<Cluster>);
    expect(created).toEqual([eventName({ ...REPORT, key: 'second' })]);
    expect(listed).toEqual([{ namespace: 'tenant', fieldSelector: 'source=managed-tenant-quota' }]);
  });

  test('are all written where the list fails', async () => {
    const list = (): Promise<never> => Promise.reject(new ApiError('a list', { code: 500 }, new Date()));
    const logged: string[] = [];
    const log: Log = (_, message) => void logged.push(message);
    expect(await names({ list }, log)).toHaveLength(2);
    expect(logged).toEqual([expect.stringMatching(/^our Events were not listed: /)]);
  });
});

describe('the message of an Event', () => {
  test('of type Warning ends with what to do', async () => {
    expect(await messageOf({})).toBe(`quota lacks pods=1. ${ADVICE.NotEnough}`);
  });

  test('of type Normal stays as it is', async () => {
    expect(await messageOf({ type: 'Normal' })).toBe('quota lacks pods=1');
  });

  test('is cut to 1,024 characters, before its advice', async () => {
    const message = await messageOf({ message: 'x'.repeat(2_000) });
    expect(message.length).toBeLessThanOrEqual(1_024);
    expect(message).toMatch(/x… Ask the admin of a named VMMRQ .*\.$/);
    expect(await messageOf({ type: 'Normal', message: 'x'.repeat(2_000) })).toBe(`${'x'.repeat(1_023)}…`);
  });
});
