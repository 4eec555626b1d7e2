import { expect, test } from '@jest/globals';
import { aQuota, specHard } from '../../test/support/builders/quota.ts';
import { REASON } from '../domain/names.ts';
import type { ResourceList } from '../domain/objects.ts';
import { alteration } from './rehearsal.ts';

const rehearsed = (asked: ResourceList, stored: ResourceList) => ({
  asked: aQuota(specHard(asked)),
  stored: aQuota(specHard(stored)),
});

test.each([
  ['as it was asked for', rehearsed({ cpu: '2', pods: '1' }, { cpu: '2', pods: '1' })],
  ['in another form', rehearsed({ cpu: '2000m' }, { cpu: '2' })],
])('stored %s: nothing stands in the way', (_, one) => {
  expect(alteration([one])).toBeUndefined();
});

test.each([
  ['rounded', rehearsed({ cpu: '933333334n' }, { cpu: '934m' }), 'cpu=933333334n would be stored with 934m'],
  ['less', rehearsed({ cpu: '2' }, { cpu: '1' }), 'cpu=2 would be stored with 1'],
  ['not at all', rehearsed({ cpu: '2' }, {}), 'cpu=2 would be stored with none'],
])('stored %s: no lock, and the tenant is told', (_, one, why) => {
  const fine = rehearsed({ cpu: '1' }, { cpu: '1' });
  const refusal = alteration([fine, one]);
  expect(refusal?.reason).toBe(REASON.refusedByPolicy);
  expect(refusal?.message).toContain(`ResourceQuota quota with ${why}`);
});
