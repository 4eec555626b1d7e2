import { describe, expect, test } from '@jest/globals';
import { parseReview, toResponse, toReview } from './admission.ts';

const request = {
  uid: 'u1',
  kind: { group: '', version: 'v1', kind: 'Pod' },
  resource: { group: '', version: 'v1', resource: 'pods' },
  requestKind: { group: '', version: 'v1', kind: 'Pod' },
  namespace: 'tenant',
  operation: 'CREATE',
  userInfo: { username: 'alice', uid: '1', groups: ['system:authenticated'], extra: { a: ['b'] } },
  object: { metadata: { generateName: 'x-' }, spec: { containers: [] } },
  oldObject: null,
  options: { kind: 'CreateOptions' },
};
const review = (changed: object = {}): unknown => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: { ...request, ...changed },
});

/** The value is parsed from JSON, so that __proto__ is an ordinary key. */
const PROTO: unknown = JSON.parse('{"__proto__": 1}');

describe('parseReview', () => {
  test('keeps the fields that a review reads and the whole object, and nothing else', () => {
    expect(parseReview(review())).toEqual({
      uid: 'u1',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      namespace: 'tenant',
      operation: 'CREATE',
      userInfo: { username: 'alice', groups: ['system:authenticated'], uid: '1', extra: { a: ['b'] } },
      object: { metadata: { generateName: 'x-' }, spec: { containers: [] } },
      oldObject: null,
      dryRun: false,
    });
  });

  test('accepts a user without groups', () => {
    expect(parseReview(review({ userInfo: { username: 'alice' }, dryRun: true }))).toMatchObject({
      userInfo: { username: 'alice', groups: [] },
      dryRun: true,
    });
  });

  const now = { metadata: { labels: { a: 'now' } } };
  const before = { metadata: { labels: { a: 'before' } } };

  test.each<[string, object]>([
    ['a creation', { operation: 'CREATE', object: now, oldObject: null }],
    ['a change', { operation: 'UPDATE', object: now, oldObject: before }],
    ['a deletion', { operation: 'DELETE', object: null, oldObject: before }],
  ])('keeps the objects of %s', (_, change) => {
    expect(parseReview(review(change))).toMatchObject(change);
  });

  test('accepts a missing field instead of null', () => {
    const creation = { operation: 'CREATE', object: now, oldObject: undefined };
    expect(parseReview(review(creation))).toMatchObject({ oldObject: null });
    const deletion = { operation: 'DELETE', object: undefined, oldObject: before };
    expect(parseReview(review(deletion))).toMatchObject({ object: null });
  });

  test.each<[string, object, string]>([
    ['a creation without an object', { operation: 'CREATE', object: null }, 'request.object: '],
    ['a creation with an old object', { operation: 'CREATE', oldObject: before }, 'request.oldObject: '],
    [
      'a change without an object',
      { operation: 'UPDATE', object: undefined, oldObject: before },
      'request.object: ',
    ],
    ['a change with a null old object', { operation: 'UPDATE', oldObject: null }, 'request.oldObject: '],
    ['a change without an old object', { operation: 'UPDATE', oldObject: undefined }, 'request.oldObject: '],
    ['a deletion without an old object', { operation: 'DELETE', object: null }, 'request.oldObject: '],
    ['a deletion with an object', { operation: 'DELETE', oldObject: before }, 'request.object: '],
    ['a connection', { operation: 'CONNECT' }, 'request.operation: '],
    ['a misspelt object', { object: undefined, OBJECT: now }, 'request.object: '],
  ])('rejects %s', (_, change, want) => {
    expect(parseReview(review(change))).toContain(want);
  });

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'no admission.k8s.io/v1 AdmissionReview: '],
    ['an array', [], 'no admission.k8s.io/v1 AdmissionReview: '],
    ['v1beta1', { ...(review() as object), apiVersion: 'admission.k8s.io/v1beta1' }, 'apiVersion: '],
    ['no request', { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }, 'request: '],
    ['no uid', review({ uid: '' }), 'request.uid: '],
    ['no user', review({ userInfo: {} }), 'request.userInfo.username: '],
    [
      'a user with another extra',
      review({ userInfo: { username: 'a', extra: { a: [1] } } }),
      'request.userInfo.extra: ',
    ],
    ['a new operation', review({ operation: 'PATCH' }), 'request.operation: '],
    ['an object without metadata', review({ object: { spec: {} } }), 'request.object: is no object'],
    [
      'labels in a list of numbers',
      review({ object: { metadata: { labels: [1] } } }),
      'request.object: is no',
    ],
    ['a uid of any length', review({ uid: 'u'.repeat(254) }), 'request.uid: '],
    ['labels in a list', review({ object: { metadata: { labels: ['a'] } } }), 'request.object: is no'],
    [
      'a label __proto__ that is no text',
      review({ object: { metadata: { labels: PROTO } } }),
      'request.object: is no',
    ],
  ])('rejects %s and says why', (_, body, want) => {
    expect(parseReview(body)).toContain(want);
  });
});

describe('toResponse', () => {
  test('makes an allowing response', () => {
    expect(toResponse('u1', { allowed: true })).toEqual({ uid: 'u1', allowed: true });
  });

  test('makes an allowing response with a patch', () => {
    const patch = [{ op: 'remove', path: '/metadata/annotations/a' }] as const;
    const { patch: sent = '', ...response } = toResponse('u1', { allowed: true, patch });
    expect(response).toEqual({ uid: 'u1', allowed: true, patchType: 'JSONPatch' });
    expect(JSON.parse(Buffer.from(sent, 'base64').toString())).toEqual(patch);
  });

  test('makes a refusing response, with and without causes', () => {
    const denial = { allowed: false, code: 403, reason: 'Forbidden', message: 'locked' } as const;
    const status = { code: 403, reason: 'Forbidden', message: 'locked' };
    const causes = [{ reason: 'mtq', message: 'token', field: 'spec' }];

    expect(toResponse('u1', denial)).toEqual({ uid: 'u1', allowed: false, status });
    expect(toReview(toResponse('u1', { ...denial, causes }))).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'u1', allowed: false, status: { ...status, details: { causes } } },
    });
  });

  test('makes a refusing response that says when to repeat the request', () => {
    const status = { code: 429, reason: 'TooManyRequests', message: 'locked' } as const;
    const denial = { allowed: false, ...status, retryAfterSeconds: 1 } as const;
    expect(toResponse('u1', denial).status).toEqual({ ...status, details: { retryAfterSeconds: 1 } });
  });

  test('gives a refusal in at most 4,000 characters: a forged review names any namespace', () => {
    const denial = {
      allowed: false,
      code: 403,
      reason: 'Forbidden',
      message: 'x'.repeat(1_000_000),
    } as const;
    expect(toResponse('u1', denial).status?.message).toHaveLength(4_000);
  });
});
