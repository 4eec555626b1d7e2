import { expect, test } from '@jest/globals';
import { aStorageMap } from '../test/support/builders/live.ts';
import type { Cluster } from '../functions/kubernetes/cluster.ts';
import type { AdmissionRequest, Decision } from './admission/admission.ts';
import { newReview } from './dispatch-review.ts';

const created = {
  ...{ uid: 'u', dryRun: false, operation: 'CREATE', namespace: 'tenant' },
  ...{ object: aStorageMap(), oldObject: null, userInfo: { username: 'tina', groups: [] } },
  resource: { group: 'forklift.konveyor.io', version: 'v1beta1', resource: 'storagemaps' },
} as unknown as AdmissionRequest;

const SETTINGS = { KUBEVIRT_NAMESPACE: 'kubevirt', KUBEVIRT_CONTROLLER: 'kubevirt-controller' };
type Settings = Partial<Parameters<typeof newReview>[1]>;

/** The decision on a review that a pod sends. */
function decide(settings: Settings, senders?: Parameters<typeof newReview>[3]): Promise<Decision> {
  const review = newReview({} as Cluster, { ...SETTINGS, ...settings }, () => ({ kind: 'absent' }), senders);
  return review(created, '10.244.0.5');
}

test.each<[string, Settings, boolean]>([
  ['off', { LIVE_MIGRATION: 'off' }, false],
  ['left out', {}, false],
  ['on', { LIVE_MIGRATION: 'on' }, true],
  ['loopback', { LIVE_MIGRATION: 'loopback' }, true],
])('a map of Forklift is reviewed only where live migration is on: %s', async (_what, settings, allowed) => {
  expect(await decide(settings)).toMatchObject({ allowed });
});

test('a pod gets no review of Forklift where the API servers are known', async () => {
  const noted: string[] = [];
  const decision = await decide(
    { LIVE_MIGRATION: 'on' },
    { note: (address) => noted.push(address), isForeign: () => true },
  );
  expect(decision).toMatchObject({ allowed: false, message: expect.stringContaining('10.244.0.5') });
  expect(noted).toEqual(['10.244.0.5']);
});
