import { expect, test } from '@jest/globals';
import { annotated, labelled } from '../../../test/support/builders/object.ts';
import { aGrant, aQuota, holding } from '../../../test/support/builders/quota.ts';
import { grantBy, grantOf } from './grant.ts';
import { ANNOTATION, LABEL } from '../names.ts';

const said = (text: string): ReturnType<typeof grantOf> => grantOf(aQuota(annotated(ANNOTATION.grant, text)));

test('what was written is read', () => {
  expect(grantOf(aQuota(holding(aGrant())))).toEqual({ kind: 'held', grant: aGrant() });
  expect(grantOf(aQuota())).toEqual({ kind: 'none' });
  expect(grantBy(aQuota(holding(aGrant())), 'token-1')).toEqual(aGrant());
  expect(grantBy(aQuota(holding(aGrant())), 'token-0')).toBeUndefined();
});

test('of another version token, end and raised amounts are sure, whatever else it says', () => {
  const { token, expiresAt, raised } = aGrant();
  const text = JSON.stringify({ v: 2, token, expiresAt, raised, quotas: 7, vmmrqs: 'by name', more: {} });
  expect(said(text)).toMatchObject({
    kind: 'held',
    grant: { token, expiresAt, raised, quotas: [], vmmrqs: [] },
  });
});

test.each([
  ['no JSON', '{'],
  ['no token', JSON.stringify({ ...aGrant(), token: undefined })],
  ['nothing raised', JSON.stringify({ ...aGrant(), raised: undefined })],
  ['an amount that is no quantity', JSON.stringify({ ...aGrant(), raised: { pods: 'many' } })],
  ['an amount below nothing', JSON.stringify({ ...aGrant(), raised: { pods: '-1' } })],
])('%s: malformed, and it says why', (_, text) => {
  expect(said(text)).toEqual({ kind: 'malformed', problem: expect.stringMatching(/./) });
});

test('the label alone is a grant that cannot be read', () => {
  expect(grantOf(aQuota(labelled(LABEL.raised)))).toMatchObject({ kind: 'malformed' });
});
