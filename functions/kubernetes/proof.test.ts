import { describe, expect, test } from '@jest/globals';
import { PROOF_QUOTA, WEBHOOK } from '../domain/names.ts';
import type { Cluster } from './cluster.ts';
import { ApiError, Unreachable, type Status } from './errors.ts';
import { prove } from './proof.ts';

/** Answers a CREATE so. */
const answering = (create: (...asked: unknown[]) => Promise<unknown>): Cluster =>
  ({ create }) as Partial<Cluster> as Cluster;

const refusing = (status: Status): Cluster =>
  answering(() => Promise.reject(new ApiError('POST /', status, new Date(0))));

const cause = { reason: WEBHOOK.locked, message: 'token-1' };
const guards: Status = { code: 403, reason: 'Forbidden', message: 'locked', details: { causes: [cause] } };

test('the guard’s own refusal, with this token, is the proof', async () => {
  expect(await prove(refusing(guards), 'tenant', 'token-1')).toEqual({ proven: true });
});

test('it is one of several causes', async () => {
  const causes = [{ reason: 'theirs', message: 'token-2' }, cause];
  expect(await prove(refusing({ ...guards, details: { causes } }), 'tenant', 'token-1')).toEqual({
    proven: true,
  });
});

test('nothing is made: the request is a dry run of a quota in the namespace', async () => {
  const asked: unknown[] = [];
  const cluster = answering((...request) => {
    asked.push(...request);
    return Promise.resolve();
  });
  await prove(cluster, 'tenant', 'token-1');
  expect(asked).toEqual([
    expect.objectContaining({ kind: 'ResourceQuota' }),
    { metadata: { name: PROOF_QUOTA, namespace: 'tenant' }, spec: {} },
    { dryRun: true },
  ]);
});

describe('no proof', () => {
  test.each<[string, Status]>([
    ['another token', { ...guards, details: { causes: [{ ...cause, message: 'token-2' }] } }],
    ['another webhook with the token', { ...guards, details: { causes: [{ ...cause, reason: 'theirs' }] } }],
    ['the token in its message only', { ...guards, message: 'token-1', details: {} }],
    ['no causes: a missing permission', { code: 403, reason: 'Forbidden', message: 'no rights' }],
    ['a 500 with the cause', { ...guards, code: 500 }],
    ['a 409 with the cause', { ...guards, code: 409 }],
    ['an empty answer', {}],
  ])('%s', async (_, status) => {
    expect(await prove(refusing(status), 'tenant', 'token-1')).toEqual({
      proven: false,
      why: expect.stringContaining('ApiError'),
    });
  });

  test('no refusal at all', async () => {
    const cluster = answering(() => Promise.resolve({}));
    expect(await prove(cluster, 'tenant', 'token-1')).toMatchObject({ proven: false });
  });

  test('no answer: rejects, and is tried again', async () => {
    const cluster = answering(() => Promise.reject(new Unreachable('no answer')));
    await expect(prove(cluster, 'tenant', 'token-1')).rejects.toThrow(Unreachable);
  });
});
