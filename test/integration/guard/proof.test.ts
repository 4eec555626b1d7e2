import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ANNOTATION, OTHER_LOCK_MESSAGE, PROOF_QUOTA, WEBHOOK } from '../../../functions/domain/names.ts';
import { lockOf } from '../../../functions/domain/lock.ts';
import { proofIn } from '../../../functions/domain/proof.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { policiesInForce } from '../../cluster/policies-in-force.ts';
import { writeByHand } from '../../support/tenant/by-hand.ts';
import { askUntil } from '../../support/eventually.ts';
import { startGuards, type Guards } from '../../support/environment/guards.ts';
import { rawText } from '../../support/raw-text.ts';

/** In the default installation the policy lets a proof of the cached lock pass, and the guard answers with the live lock. */

const TENANT = 'tenant';
const TOKEN = '11111111-2222-4333-8444-555555555555';

let guards: Guards;
let asRaise: Cluster;

beforeAll(async () => {
  guards = await startGuards({ OVERDUE_SECONDS: '10', CA_LEAD_MS: '0' });
  await guards.start('guard');
  await (
    await policiesInForce(guards.admin)
  )();
  await guards.lock(TENANT, TOKEN);
  asRaise = await guards.as('raise');
  await untilToken(TOKEN, TOKEN);
});

afterAll(async () => {
  await guards.stop();
});

const refusal = async (token: string): Promise<ApiError | undefined> => {
  const metadata = {
    name: PROOF_QUOTA,
    namespace: TENANT,
    annotations: { [ANNOTATION.proof]: token },
  };
  try {
    await asRaise.create(RESOURCE_QUOTAS, { metadata, spec: {} }, { dryRun: true });
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
};

const causeOf = (error: ApiError | undefined): string =>
  rawText(error?.status.details?.causes?.find(({ reason }) => reason === WEBHOOK.locked)?.message);

/** The API server's caches and the guard may be a moment behind. */
async function untilToken(asked: string, token: string | undefined): Promise<ApiError | undefined> {
  return askUntil(
    'the guard answers the proof',
    () => refusal(asked),
    (error) => {
      const proof = proofIn(causeOf(error));
      return proof !== undefined && proof.token === token;
    },
  );
}

const live = async (): Promise<ReturnType<typeof lockOf>> =>
  lockOf((await guards.admin.get(NAMESPACES, { name: TENANT })).object);

test('the guard answers with the live lock', async () => {
  const error = await refusal(TOKEN);
  expect(error?.code).toBe(403);
  const state = await live();
  if (state.kind !== 'held') throw new Error('it is not locked');
  const { token, expiresAt, migrations, quotas, vmmrqs } = state.lock;
  expect(proofIn(causeOf(error))).toEqual({ token, expiresAt, migrations, quotas, vmmrqs });
});

test('the proof of another lock does not reach the guard', async () => {
  const error = await refusal('another');
  expect(error?.code).toBe(403);
  expect(error?.status.message).toContain(OTHER_LOCK_MESSAGE);
  expect(causeOf(error)).toBe('');
});

test('the proof of an opted-out namespace says so', async () => {
  const annotate = (value: string | null): Promise<unknown> =>
    guards.admin.patch(
      NAMESPACES,
      { name: TENANT },
      { merge: { metadata: { annotations: { [ANNOTATION.skip]: value } } } },
    );
  await annotate('true');
  expect(proofIn(causeOf(await refusal(TOKEN)))).toMatchObject({ token: TOKEN, skip: true });
  await annotate(null);
});

test('the proof of an ended lock has no token', async () => {
  const state = await live();
  if (state.kind !== 'held') throw new Error('it is not locked');
  const ended = { reason: 'NoProof', message: 'for this test' };
  await writeByHand(guards.admin, TENANT, {
    annotations: { [ANNOTATION.lock]: JSON.stringify({ ...state.lock, ended }) },
  });
  const error = await untilToken(TOKEN, undefined);
  expect(proofIn(causeOf(error))).toMatchObject({ expiresAt: state.lock.expiresAt });
});

test('without a lock the API server accepts the proof', async () => {
  await writeByHand(guards.admin, TENANT, {
    labels: { 'mtq.kubevirt.io/locked': null },
    annotations: { [ANNOTATION.lock]: null, [ANNOTATION.token]: null },
  });
  await askUntil(
    'the API server has heard of it',
    () => refusal(TOKEN),
    (error) => error === undefined,
  );
});
