import { CloudEvent } from 'cloudevents';
import { describe, expect, test } from '@jest/globals';
import { EVENT_DATA, type OurEvent } from '../domain/events.ts';
import type { MoveEvent } from '../domain/live/move-events.ts';
import { EVENT, REASON, SOURCE_EVENT, type Reason } from '../domain/names.ts';
import { BadEvent, cloudEventOf, toCloudEvent, toStepRequest } from './cloud-events.ts';

const locked: OurEvent = {
  type: EVENT.namespaceLocked,
  from: 'lock',
  namespace: 'tenant',
  token: 'token-1',
  migrations: [{ name: 'mig0', uid: 'uid-of-mig0' }],
};

test('an event about a VM that moves is from live, and keeps its id', () => {
  const event: MoveEvent = {
    id: 'm/v/cutover',
    type: 'io.kubevirt.mtq.live.cutover',
    time: '2026-11-21T05:00:00Z',
    subject: 'tenant/run/web',
    data: {
      plan: { namespace: 'tenant', name: 'plan' },
      migration: { namespace: 'tenant', name: 'run', uid: 'm' },
      vm: { id: 'v', namespace: 'vms', name: 'web' },
      target: { namespace: 'target', name: 'web' },
      step: 'WaitForStateTransfer',
      message: 'the guest was seen on the target',
      percent: 80,
      left: 1,
    },
  };
  const { data, ...attributes } = event;
  expect(cloudEventOf(event)).toMatchObject({ ...attributes, source: '/mtq/live', data });
});

describe('our events', () => {
  test('carry where to look', () => {
    const event = toCloudEvent({ ...locked, reason: REASON.locked, message: 'for mig0' });
    expect(event).toMatchObject({
      specversion: '1.0',
      type: EVENT.namespaceLocked,
      source: '/mtq/lock',
      subject: 'tenant',
      mtqtoken: 'token-1',
      datacontenttype: 'application/json',
      data: {
        namespace: 'tenant',
        token: 'token-1',
        migrations: locked.migrations,
        reason: REASON.locked,
        message: 'for mig0',
      },
    });
  });

  test('have no token where there is no lock', () => {
    const event = toCloudEvent({
      type: EVENT.resyncRequested,
      from: 'guard',
      namespace: 'tenant',
      cause: 'c',
    });
    expect(event).not.toHaveProperty('mtqtoken');
    expect(event.data).toEqual({ namespace: 'tenant' });
  });

  test.each(Object.values(EVENT))('%s: longer texts are cut to what its schema accepts', (type) => {
    const long = { reason: 'r'.repeat(201) as Reason, message: 'm'.repeat(4_001) };
    const event = toCloudEvent({ ...locked, type, ...long });
    expect(EVENT_DATA[type].parse(event.data)).toMatchObject({
      reason: `${'r'.repeat(199)}…`,
      message: `${'m'.repeat(3_999)}…`,
    });
  });

  test.each(Object.values(EVENT))('%s: passes its own schema, and comes back as a step request', (type) => {
    const event = toCloudEvent({ ...locked, type });
    expect(EVENT_DATA[type].parse(event.data)).toEqual(event.data);
    const { id, source } = event;
    const { migrations, reason } = locked;
    expect(toStepRequest(event)).toEqual({
      type,
      id,
      source,
      namespace: 'tenant',
      token: 'token-1',
      migrations,
      reason,
    });
  });

  // `feasibility` keeps the UIDs of the last thousand: one of 256 KiB each would fill its memory.
  test.each([
    ['name', 253],
    ['uid', 64],
  ])('no step can use one with a migration whose %s has more than %d characters', (field, most) => {
    const event = (length: number): CloudEvent<unknown> =>
      toCloudEvent({ ...locked, migrations: [{ name: 'mig0', uid: 'u', [field]: 'x'.repeat(length) }] });
    expect(toStepRequest(event(most)).migrations).toHaveLength(1);
    expect(() => toStepRequest(event(most + 1))).toThrow(BadEvent);
  });

  // They become parts of API paths.
  test.each<[string, Partial<OurEvent>]>([
    ['namespace', { namespace: '..' }],
    ['migration', { migrations: [{ name: 'a%2Fb', uid: 'u' }] }],
    ['quota', { quotas: ['../../secrets/s'] }],
    ['VMMRQ', { vmmrqs: ['cvmmrq/..'] }],
    ['VMI', { vmis: ['a?watch=1'] }],
  ])('no step can use one with the name of a %s that no object has', (_, named) => {
    expect(() => toStepRequest(toCloudEvent({ ...locked, ...named }))).toThrow(BadEvent);
  });

  const idOf = (different: Partial<OurEvent>): string => toCloudEvent({ ...locked, ...different }).id;

  test.each<[string, Partial<OurEvent>]>([
    ['time', {}],
    ['migrations', { migrations: [] }],
    ['message', { message: 'another' }],
  ])('the same cause has the same id, whatever the %s', (_, different) => {
    expect(idOf(different)).toBe(idOf({}));
  });

  test.each<[string, Partial<OurEvent>]>([
    ['token', { token: 'token-2' }],
    ['namespace', { namespace: 'tenant-2' }],
    ['type', { type: EVENT.lockExpired }],
    ['sender', { from: 'guard' }],
  ])('another %s, another id', (_, different) => {
    expect(idOf(different)).not.toBe(idOf({}));
  });

  test('have an id made of the cause where there is no token', () => {
    const resynced = (cause: string): string => {
      const event = { type: EVENT.resyncRequested, from: 'guard', namespace: 'tenant', cause } as const;
      return toCloudEvent(event).id;
    };
    expect(resynced('1')).toBe(resynced('1'));
    expect(resynced('1')).not.toBe(resynced('2'));
  });
});

describe('an event of the source', () => {
  const update = {
    id: 'id-1',
    type: SOURCE_EVENT.update,
    source: 'https://127.0.0.1',
    kind: 'ResourceQuota',
    name: 'quota',
    namespace: 'tenant',
    data: { metadata: { namespace: 'another' } },
  };

  test('names the namespace by its attributes, never by its data', () => {
    expect(toStepRequest(new CloudEvent<unknown>(update))).toEqual({
      type: SOURCE_EVENT.update,
      id: 'id-1',
      namespace: 'tenant',
      kind: 'ResourceQuota',
    });
  });

  test('cannot report an overdue lock: only the watchdog can', () => {
    const forged = new CloudEvent<unknown>({ ...update, overduetoken: 'token-1', mtqtoken: 'token-1' });
    expect(toStepRequest(forged)).not.toHaveProperty('overdueToken');
    const ours = {
      ...update,
      type: EVENT.lockExpired,
      data: { namespace: 'tenant', overdueToken: 'token-1' },
    };
    expect(toStepRequest(new CloudEvent<unknown>(ours))).toEqual({
      type: EVENT.lockExpired,
      id: 'id-1',
      source: 'https://127.0.0.1',
      namespace: 'tenant',
    });
  });

  test.each<[string, object]>([
    ['no namespace', { namespace: undefined }],
    ['an empty one', { namespace: '' }],
    ['a type that is not the source’s', { type: 'dev.knative.apiserver.ref.update' }],
    ['a type that every object has', { type: 'toString' }],
  ])('%s: no step can use it', (_, different) => {
    expect(() => toStepRequest(new CloudEvent<unknown>({ ...update, ...different }, false))).toThrow(
      BadEvent,
    );
  });
});
