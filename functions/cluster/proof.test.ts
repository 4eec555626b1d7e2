import { describe, expect, test } from '@jest/globals';
import type { Clock } from '../runtime/clock.ts';
import { aLock } from '../../test/support/builders/namespace.ts';
import {
  ANNOTATION,
  OTHER_LOCK_MESSAGE,
  POLICY,
  PROOF_QUOTA,
  PROOF_MESSAGE,
  WEBHOOK,
} from '../domain/names.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { ApiError, Unreachable, type Status } from '../kubernetes/errors.ts';
import { prove, proveInTime } from './proof.ts';

/** Answers a CREATE with this. */
const answering = (create: (...asked: unknown[]) => Promise<unknown>): Cluster =>
  ({ create }) as Partial<Cluster> as Cluster;

const refusing = (status: Status): Cluster =>
  answering(() => Promise.reject(new ApiError('POST /', status, new Date(0))));

const { token, expiresAt, migrations, quotas, vmmrqs } = aLock();
const live = { token, expiresAt, migrations, quotas, vmmrqs };
const of = (lock: object): string => JSON.stringify(lock);
const cause = { reason: WEBHOOK.locked, message: of(live) };
const guards: Status = { code: 403, reason: 'Forbidden', message: 'locked', details: { causes: [cause] } };

/** A rejection as the API server writes it (seen in policies/namespaces.test.ts): only the texts name the policy. */
const rejection =
  `ValidatingAdmissionPolicy '${POLICY.locked}' with binding '${POLICY.locked}' denied request: ` +
  `${PROOF_MESSAGE}token-1`;
const message = `resourcequotas "${PROOF_QUOTA}" is forbidden: ${rejection}`;
const details = { name: PROOF_QUOTA, kind: 'resourcequotas', causes: [{ message: rejection }] };
const policys: Status = { code: 403, reason: 'Forbidden', message, details };

test('so is our policy’s, which does not carry the lock', async () => {
  expect(await prove(refusing(policys), { namespace: 'tenant', token: 'token-1' })).toEqual({
    proven: true,
    lock: undefined,
    now: 0,
  });
});

test('the guard’s own refusal, with this token, is the proof, and carries the live lock', async () => {
  expect(await prove(refusing(guards), { namespace: 'tenant', token: 'token-1' })).toEqual({
    proven: true,
    lock: live,
    now: 0,
  });
});

test('the lock may be in one of several causes', async () => {
  const causes = [{ reason: 'theirs', message: 'token-2' }, cause];
  expect(
    await prove(refusing({ ...guards, details: { causes } }), { namespace: 'tenant', token: 'token-1' }),
  ).toMatchObject({
    proven: true,
  });
});

test('the request stores nothing: it is a dry run of a quota in the namespace', async () => {
  const asked: unknown[] = [];
  const cluster = answering((...request) => {
    asked.push(...request);
    return Promise.resolve();
  });
  await prove(cluster, { namespace: 'tenant', token: 'token-1' });
  expect(asked).toEqual([
    expect.objectContaining({ kind: 'ResourceQuota' }),
    {
      metadata: {
        name: PROOF_QUOTA,
        namespace: 'tenant',
        annotations: { [ANNOTATION.proof]: 'token-1' },
      },
      spec: {},
    },
    { dryRun: true },
  ]);
});

/** The policy's refusal with one text replaced everywhere. */
const replaced = (text: string, other: string): Status =>
  JSON.parse(JSON.stringify(policys).replaceAll(text, other)) as Status;

describe('no proof', () => {
  test.each<[string, Status]>([
    ['another webhook with the token', { ...guards, details: { causes: [{ ...cause, reason: 'theirs' }] } }],
    ['the token in its message only', { ...guards, message: 'token-1', details: {} }],
    ['no causes: a missing permission', { code: 403, reason: 'Forbidden', message: 'no rights' }],
    ['a 500 with the cause', { ...guards, code: 500 }],
    ['a 409 with the cause', { ...guards, code: 409 }],
    ['an empty answer', {}],
    ['nothing that can be read', { ...guards, details: { causes: [{ ...cause, message: 'token-1' }] } }],
    ['our policy’s refusal with another token', replaced('token-1', 'token-2')],
    ['with a token that begins with ours', replaced('token-1', 'token-10')],
    ['by another policy', replaced(POLICY.locked, 'theirs')],
    ['by another binding of it', replaced(`binding '${POLICY.locked}'`, "binding 'theirs'")],
    ['of another quota', replaced(PROOF_QUOTA, 'quota')],
    ['in another policy’s words', replaced(PROOF_MESSAGE, 'no: ')],
    [
      'in a webhook’s message, with the very cause',
      { ...policys, message: `admission webhook "theirs" denied the request: ${rejection}` },
    ],
    [
      'in a webhook’s message that ends as ours',
      { ...policys, message: `admission webhook "theirs" denied the request: ${message}` },
    ],
    ['without the cause', { ...policys, details: {} }],
    ['with a 422', { ...policys, code: 422 }],
  ])('%s', async (_, status) => {
    expect(await prove(refusing(status), { namespace: 'tenant', token: 'token-1' })).toEqual({
      proven: false,
      reason: expect.stringContaining('ApiError'),
    });
  });

  test.each<[string, object]>([
    ['a lock of another token', { ...live, token: 'token-2' }],
    ['a lock that is over, without a token', { ...live, token: undefined }],
  ])('%s', async (_, lock) => {
    const causes = [{ ...cause, message: of(lock) }];
    expect(
      await prove(refusing({ ...guards, details: { causes } }), { namespace: 'tenant', token: 'token-1' }),
    ).toEqual({
      proven: false,
      reason: 'the guard knows of no live lock of this token',
    });
  });

  test('a lock whose token the guard withholds, with the reason', async () => {
    const lock = { ...live, token: undefined, withheld: 'mtqs are not listed' };
    const causes = [{ ...cause, message: of(lock) }];
    expect(
      await prove(refusing({ ...guards, details: { causes } }), { namespace: 'tenant', token: 'token-1' }),
    ).toEqual({
      proven: false,
      reason: 'mtqs are not listed',
    });
  });

  test('no refusal at all', async () => {
    const cluster = answering(() => Promise.resolve({}));
    expect(await prove(cluster, { namespace: 'tenant', token: 'token-1' })).toMatchObject({ proven: false });
  });

  test('no answer: it rejects, so that the Broker retries', async () => {
    const cluster = answering(() => Promise.reject(new Unreachable('no answer')));
    await expect(prove(cluster, { namespace: 'tenant', token: 'token-1' })).rejects.toThrow(Unreachable);
  });
});

describe('proveInTime', () => {
  /** Time passes only while the code waits for it. */
  function newClock(): Clock {
    let elapsed = 0;
    return {
      elapsed: () => elapsed,
      now: () => new Date(elapsed),
      after: (ms, work) => {
        elapsed += ms;
        work();
        return () => undefined;
      },
    };
  }

  const otherLock = replaced(`${PROOF_MESSAGE}token-1`, OTHER_LOCK_MESSAGE);
  const late = { code: 403, reason: 'Forbidden', message: 'no rights' };

  test.each<[string, (undefined | Status)[], number, boolean]>([
    ['at once', [guards], 1, true],
    ['the API server has not heard of the lock yet', [undefined, undefined, guards], 3, true],
    ['it knows another lock still', [otherLock, otherLock, guards], 3, true],
    ['the API server never refuses', [], 11, false],
    ['another refusal is no reason to ask again', [undefined, late, guards], 2, false],
  ])('%s', async (...[, answers, asked, proven]) => {
    let count = 0;
    const cluster = answering(() => {
      const status = answers[count];
      count += 1;
      return status === undefined
        ? Promise.resolve({})
        : Promise.reject(new ApiError('POST /', status, new Date(0)));
    });
    const claim = { namespace: 'tenant', token: 'token-1', isHeld: () => Promise.resolve(true) };
    const proof = await proveInTime({ cluster, clock: newClock() }, claim);
    expect({ proven: proof.proven, count }).toEqual({ proven, count: asked });
  });
});
