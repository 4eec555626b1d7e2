import type { IncomingMessage } from 'node:http';
import { beforeEach, expect, test } from '@jest/globals';
import { FairTurns } from '../../functions/server/fair-turns.ts';
import { newReviewBodies, parseBody } from './review-body.ts';

const HEAD = '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":';

const request = {
  complete: true,
  socket: { remoteAddress: 'a' },
  destroy: () => undefined,
} as unknown as IncomingMessage;
let parse: (text: string) => ReturnType<typeof parseBody>;
beforeEach(() => {
  const bodies = newReviewBodies(new FairTurns());
  parse = (text) => parseBody(request, Buffer.from(text), bodies);
});

test.each<[string, string, number | undefined]>([
  ['a review', `${HEAD}{}}`, undefined],
  ['as many values as it may have', `${HEAD}[${'{},'.repeat(149_990)}{}]}`, undefined],
  ['more', `${HEAD}[${'{},'.repeat(300_000)}{}]}`, 413],
  ['more, by numbers', `${HEAD}[${'1,'.repeat(300_000)}1]}`, 413],
  ['8 MiB of text', `${HEAD}"${'x'.repeat(8 * 1024 * 1024 - 100)}"}`, undefined],
  ['no JSON', HEAD, 400],
  ['values that are no review', `[${'{},'.repeat(140_000)}{}]`, 400],
  ['nothing', '', 400],
])('%s', (_what, text, status) => {
  const parsed = parse(text);
  expect('status' in parsed ? parsed.status : undefined).toBe(status);
});

test('what is no review is not parsed, and its values are not counted', () => {
  // Its values would be too many, and its text is no JSON.
  expect(parse(`[${'{},'.repeat(400_000)}`)).toEqual({ status: 400, line: 'no AdmissionReview' });
});

test('bodies at work that use the memory for bodies: 503 for the next', () => {
  const large = `${HEAD}[${'{},'.repeat(130_000)}{}]}`;
  expect(parse(large)).toHaveProperty('body');
  expect(parse(large)).toMatchObject({ status: 503 });
});
