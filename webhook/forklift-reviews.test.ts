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

const decide = (settings: Partial<Parameters<typeof newReview>[1]>): Promise<Decision> =>
  newReview(
    {} as Cluster,
    { KUBEVIRT_NAMESPACE: 'kubevirt', KUBEVIRT_CONTROLLER: 'kubevirt-controller', ...settings },
    () => ({ kind: 'absent' }),
  )(created);

test.each<[string, Partial<Parameters<typeof newReview>[1]>, boolean]>([
  ['off', { LIVE_MIGRATION: 'off' }, false],
  ['left out', {}, false],
  ['on', { LIVE_MIGRATION: 'on' }, true],
  ['loopback', { LIVE_MIGRATION: 'loopback' }, true],
])('a map of Forklift is reviewed only where live migration is on: %s', async (_what, settings, allowed) => {
  expect(await decide(settings)).toMatchObject({ allowed });
});
