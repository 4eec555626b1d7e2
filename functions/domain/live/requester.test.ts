import { expect, test } from '@jest/globals';
import { aPlanMigration } from '../../../test/support/builders/live.ts';
import { annotated } from '../../../test/support/builders/object.ts';
import { requesterOf, type Requester } from './requester.ts';

const of = (content: string): Requester | undefined =>
  requesterOf(aPlanMigration(annotated('live.mtq.kubevirt.io/requester', content)));

test('who created a Migration is on it', () => {
  const requester = { user: 'tina', uid: 'u', groups: ['viewers'], extra: { scopes: ['full'] } };
  expect(of(JSON.stringify(requester))).toEqual(requester);
});

test.each(['', '{}', 'tina', '{"user":"","groups":[]}', '{"user":"tina"}'])('%j is nobody', (content) => {
  expect(of(content)).toBeUndefined();
});

test('without admission, nobody', () => {
  expect(requesterOf(aPlanMigration())).toBeUndefined();
});
