import { describe, expect, test } from '@jest/globals';
import { NOW } from '../../test/support/builders/object.ts';
import { apiServersOf, type Published } from './api-servers.ts';
import type { EndpointSlice, Lease } from './objects.ts';

const metadata = { name: 'any', namespace: 'any', uid: '', resourceVersion: '', creationTimestamp: '' };
const slice = (port: number | undefined, ...addresses: string[]): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata,
  endpoints: addresses.map((address) => ({ addresses: [address] })),
  ports: port === undefined ? null : [{ name: 'https', port }],
});
/** A Lease that was renewed so many seconds ago; undefined: never. */
const lease = (secondsAgo: number | undefined, seconds = 3_600): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata,
  spec: {
    leaseDurationSeconds: seconds,
    // As the API server writes it: microseconds.
    ...(secondsAgo === undefined
      ? {}
      : { renewTime: new Date(NOW - secondsAgo * 1_000).toISOString().replace('Z', '000Z') }),
  },
});
const of = (published: Partial<Published>): ReturnType<typeof apiServersOf> =>
  apiServersOf({ slices: [], leases: [], unreachable: new Set(), now: NOW, ...published });

test('apiServersOf lists the addresses of all slices once, IPv4 and IPv6', () => {
  const slices = [slice(6443, '10.0.0.1', '10.0.0.2'), slice(6443, 'fd00::1'), slice(6443, '10.0.0.1')];
  expect(of({ slices }).addresses).toEqual([
    'https://10.0.0.1:6443',
    'https://10.0.0.2:6443',
    'https://[fd00::1]:6443',
  ]);
});

test('apiServersOf takes port 443 where a slice has no port', () => {
  const empty: EndpointSlice = { ...slice(6443), endpoints: null };
  expect(of({ slices: [slice(undefined, '10.0.0.1'), empty] }).addresses).toEqual(['https://10.0.0.1:443']);
});

test('apiServersOf counts an unreachable address as a hidden server', () => {
  const unreachable = new Set(['https://10.0.0.2:6443']);
  const slices = [slice(6443, '10.0.0.1', '10.0.0.2')];
  expect(of({ slices, leases: [lease(1), lease(1)], unreachable })).toEqual({
    addresses: ['https://10.0.0.1:6443'],
    mayHide: true,
  });
});

test('apiServersOf counts two addresses of two families as one server', () => {
  const slices = [slice(6443, '10.0.0.1'), slice(6443, 'fd00::1')];
  expect(of({ slices, leases: [lease(1)] }).mayHide).toBe(false);
  expect(of({ slices, leases: [lease(1), lease(1)] }).mayHide).toBe(true);
});

describe('apiServersOf compares live leases with two addresses', () => {
  const slices = [slice(6443, '10.0.0.1', '10.0.0.2')];
  test.each<[string, Published['leases'], boolean]>([
    ['two leases', [lease(5), lease(9)], false],
    ['one lease', [lease(5)], false],
    ['three leases', [lease(5), lease(5), lease(5)], true],
    ['three leases, one expired', [lease(5), lease(5), lease(3_600)], false],
    ['three leases, one never renewed', [lease(5), lease(5), lease(undefined)], false],
    ['no lease', [], true],
    ['only an expired lease', [lease(7_200)], true],
    ['leases not read', undefined, true],
  ])('%s', (_, leases, mayHide) => {
    expect(of({ slices, leases }).mayHide).toBe(mayHide);
  });
});
