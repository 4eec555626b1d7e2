import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { metadata } from '../../test/support/builders/object.ts';
import type { EndpointSlice } from '../../functions/domain/objects.ts';
import { ENDPOINT_SLICES } from '../../functions/kubernetes/resources.ts';
import { ApiServerAddresses } from './api-server-addresses.ts';

const [FIRST, SECOND, POD] = ['192.0.2.1', '192.0.2.2', '10.244.0.5'] as const;

const sliceOf = (...addresses: readonly string[]): EndpointSlice => ({
  metadata: {
    ...metadata('kubernetes'),
    ...{ namespace: 'default', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
  },
  endpoints: addresses.map((address) => ({ addresses: [address] })),
});

let cluster: WatchedCluster;
let stop: AbortController;
let running: Promise<void>;

/** The addresses that the guard knows, once the API servers have published these. */
async function publish(...addresses: readonly string[]): Promise<ApiServerAddresses> {
  cluster.put(ENDPOINT_SLICES, sliceOf(...addresses));
  const known = new ApiServerAddresses(cluster.asCluster(), () => undefined);
  const watching = cluster.nextWatch(ENDPOINT_SLICES);
  running = known.run(stop.signal);
  await watching;
  return known;
}

beforeEach(() => {
  cluster = new WatchedCluster();
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await running;
});

describe('a pod is known to be no API server', () => {
  test.each<[string, readonly string[], readonly string[], boolean]>([
    ['each API server has sent a review', [FIRST, SECOND], [FIRST, SECOND], true],
    ['one of two has sent none', [FIRST, SECOND], [FIRST], false],
    ['only the pod has sent one', [FIRST], [POD], false],
    ['no address is published', [], [POD], false],
  ])('where %s: %s, %s → %s', async (_what, published, senders, isForeign) => {
    const known = await publish(...published);
    for (const address of senders) known.note(address);
    expect([known.isForeign(POD), known.isForeign(FIRST)]).toEqual([isForeign, false]);
  });

  test('until another API server comes', async () => {
    const known = await publish(FIRST);
    known.note(FIRST);
    expect(known.isForeign(POD)).toBe(true);
    cluster.put(ENDPOINT_SLICES, sliceOf(FIRST, SECOND));
    await new Promise((resolve) => setImmediate(resolve));
    expect([known.has(SECOND), known.isForeign(POD)]).toEqual([true, false]);
  });
});
