import { expect, test } from '@jest/globals';
import { annotated, labelled } from '../../../test/support/builders/object.ts';
import { aGrant, aQuota, holding } from '../../../test/support/builders/quota.ts';
import { grantBy, grantOf } from './grant.ts';
import { ANNOTATION, LABEL } from '../names.ts';

const said = (text: string): ReturnType<typeof grantOf> => grantOf(aQuota(annotated(ANNOTATION.grant, text)));

test('a written grant is read back', () => {
  expect(grantOf(aQuota(holding(aGrant())))).toEqual({ kind: 'held', grant: aGrant() });
  expect(grantOf(aQuota())).toEqual({ kind: 'none' });
  expect(grantBy(aQuota(holding(aGrant())), 'token-1')).toEqual(aGrant());
  expect(grantBy(aQuota(holding(aGrant())), 'token-0')).toBeUndefined();
});

test('another version keeps token, end and raised amounts, whatever else it has', () => {
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
])('%s: malformed, with the problem', (_, text) => {
  expect(said(text)).toEqual({ kind: 'malformed', problem: expect.stringMatching(/./) });
});

test('the label alone is an unreadable grant', () => {
  expect(grantOf(aQuota(labelled(LABEL.raised)))).toMatchObject({ kind: 'malformed' });
});
