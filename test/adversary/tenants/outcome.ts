import { WEBHOOK } from '../../../functions/domain/names.ts';
import type { Answer } from './client.ts';

/** The outcome of an attempt, for the table. */
export type Outcome =
  | 'done'
  /** Refused by the webhook for locked namespaces. */
  | 'guard'
  /** Refused by the webhook for the lock's keys on namespaces. */
  | 'keys'
  /** Refused by a ValidatingAdmissionPolicy. */
  | 'policy'
  | 'quota'
  | 'rights'
  /** A test in the patch or a precondition failed: there was nothing to attack. */
  | 'not there'
  | 'invalid'
  | 'other';

export const OUTCOMES: readonly Outcome[] = [
  'done',
  'guard',
  'keys',
  'policy',
  'quota',
  'rights',
  'not there',
  'invalid',
  'other',
];

/** Text that identifies each refusal, ours first: they say "exceeded quota" too. It only labels the table and decides nothing. */
const WORDS: readonly (readonly [Outcome, string])[] = [
  ['guard', WEBHOOK.locked],
  ['keys', WEBHOOK.keys],
  ['policy', 'ValidatingAdmissionPolicy'],
  ['quota', 'exceeded quota'],
  ['quota', 'failed quota'],
  ['rights', 'cannot '],
  // The API server's answer to a JSON patch whose test fails.
  ['not there', 'the server rejected our request'],
];

const BY_CODE: Readonly<Record<number, Outcome>> = {
  400: 'invalid',
  404: 'not there',
  409: 'not there',
  415: 'invalid',
  422: 'invalid',
};

const isRejectionCode = (code: number): boolean => [403, 422, 429, 503].includes(code);

export function outcomeOf({ code, text }: Answer): Outcome {
  if (code >= 200 && code < 300) return 'done';
  const byMessage = isRejectionCode(code) ? WORDS.find(([, words]) => text.includes(words)) : undefined;
  return byMessage?.[0] ?? BY_CODE[code] ?? 'other';
}
