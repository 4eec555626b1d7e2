import { WEBHOOK } from '../../../functions/domain/names.ts';
import type { Answer } from './client.ts';

/** What became of an attempt, for the table. */
export type Outcome =
  | 'done'
  /** By the webhook for locked namespaces. */
  | 'guard'
  /** By the one for the namespace's own keys. */
  | 'keys'
  /** By a ValidatingAdmissionPolicy. */
  | 'policy'
  | 'quota'
  | 'rights'
  /** A test in a patch, or a precondition, did not hold: there was nothing to attack. */
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

/** How a refusal by each of them reads; for people, nothing is decided by it. */
const WORDS: readonly (readonly [Outcome, string])[] = [
  ['guard', WEBHOOK.locked],
  ['keys', WEBHOOK.keys],
  ['policy', 'ValidatingAdmissionPolicy'],
  ['quota', 'exceeded quota'],
  ['quota', 'failed quota'],
  ['rights', 'cannot '],
  // A JSON patch whose test does not hold.
  ['not there', 'the server rejected our request'],
];

const BY_CODE: Readonly<Record<number, Outcome>> = {
  400: 'invalid',
  404: 'not there',
  409: 'not there',
  415: 'invalid',
  422: 'invalid',
};

const isRejectionCode = (code: number): boolean => [403, 422, 503].includes(code);

export function outcomeOf({ code, text }: Answer): Outcome {
  if (code >= 200 && code < 300) return 'done';
  const byMessage = isRejectionCode(code) ? WORDS.find(([, words]) => text.includes(words)) : undefined;
  return byMessage?.[0] ?? BY_CODE[code] ?? 'other';
}
