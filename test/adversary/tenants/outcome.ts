import { WEBHOOK } from '../../../functions/domain/names.ts';
import type { Answer } from './client.ts';

/** What became of an attempt, for the table. */
export type Outcome =
  | 'done'
  /** By the webhook for locked namespaces, or whatever stands for it. */
  | 'guard'
  /** By the one for the namespace's own keys. */
  | 'keys'
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
  ['quota', 'exceeded quota'],
  ['quota', 'failed quota'],
  ['rights', 'cannot '],
];

const BY_CODE: Readonly<Record<number, Outcome>> = {
  400: 'invalid',
  404: 'not there',
  409: 'not there',
  415: 'invalid',
  422: 'invalid',
};

export function outcomeOf({ code, text }: Answer): Outcome {
  if (code >= 200 && code < 300) return 'done';
  const byWords = code === 403 || code === 503 ? WORDS.find(([, words]) => text.includes(words)) : undefined;
  // The API server answers 422 when a JSON patch's test does not hold.
  if (code === 422 && text.includes('the server rejected our request')) return 'not there';
  return byWords?.[0] ?? BY_CODE[code] ?? 'other';
}
