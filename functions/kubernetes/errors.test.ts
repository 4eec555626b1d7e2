import { describe, expect, test } from '@jest/globals';
import { ATTACKS, HIDING } from '../../test/support/foreign-attacks.ts';
import {
  ApiError,
  describeError,
  isAlreadyExists,
  isConflict,
  isGone,
  isNotFound,
  isRejected,
  refusalOf,
  Unreachable,
} from './errors.ts';

const apiError = (code: number, reason: string): ApiError =>
  new ApiError('PUT /api/v1/x', { code, reason, message: 'no' }, new Date(0));

const KINDS = { isAlreadyExists, isConflict, isExpired: isGone, isNotFound, isRefused: isRejected };
const kindsOf = (error: unknown): string[] =>
  Object.entries(KINDS).flatMap(([name, is]) => (is(error) ? [name] : []));

describe('the kind of an error', () => {
  test.each<[unknown, string[]]>([
    [apiError(404, 'NotFound'), ['isNotFound']],
    [apiError(409, 'Conflict'), ['isConflict']],
    // A 409 too, but no lost race: the object exists.
    [apiError(409, 'AlreadyExists'), ['isAlreadyExists']],
    [apiError(410, 'Expired'), ['isExpired']],
    [apiError(400, 'BadRequest'), ['isRefused']],
    [apiError(403, 'Forbidden'), ['isRefused']],
    [apiError(422, 'Invalid'), ['isRefused']],
    [apiError(401, 'Unauthorized'), []],
    [apiError(429, 'TooManyRequests'), []],
    [apiError(500, 'InternalError'), []],
    [new Unreachable('no answer'), []],
    [new Error('404'), []],
    [Object.assign(new Error('no'), { code: 404 }), []],
    [undefined, []],
  ])('%s: %j', (error, want) => {
    expect(kindsOf(error)).toEqual(want);
  });
});

test.each<[unknown, string]>([
  [apiError(403, 'Forbidden'), 'ApiError: PUT /api/v1/x: no'],
  [new ApiError('GET /', { code: 500 }, new Date(0)), 'ApiError: GET /: HTTP 500'],
  [new Unreachable('no answer', { cause: new Error('refused') }), 'Unreachable: no answer (refused)'],
  ['a text', 'a text'],
  [undefined, 'undefined'],
])('%s is described in one line', (error, want) => {
  expect(describeError(error)).toBe(want);
});

test('an answer without a status counts as a failure of the server', () => {
  expect(new ApiError('GET /', {}, new Date(0))).toMatchObject({ code: 500, reason: 'Unknown' });
});

test.each(ATTACKS)('%s of an API server is one safe line in every text about it', (_, attack) => {
  const error = new ApiError('PUT /x', { code: 403, reason: attack, message: attack }, new Date(0));
  const other = new Error(attack, { cause: new Error(attack) });
  for (const text of [
    error.message,
    error.reason,
    refusalOf('a write', error),
    describeError(error),
    describeError(new Unreachable('GET /x', { cause: error })),
    describeError(other),
    describeError(attack),
  ]) {
    expect(text).not.toMatch(HIDING);
    expect(text.length).toBeLessThan(5_000);
  }
});
