import { test } from '@jest/globals';
import { WEBHOOK } from '../../../functions/domain/names.ts';
import { proofScene } from '../../support/policies/proof-scene.ts';
import { expectNoRaise } from '../../support/invariants/no-raise.ts';

const scene = proofScene();

/** The exact form of the guard's refusal, but for the token. */
const REFUSAL = {
  code: 403,
  reason: 'Forbidden',
  message: 'a refusal that proves nothing',
  details: { causes: [{ reason: WEBHOOK.locked, message: '00000000-0000-4000-8000-000000000000' }] },
};

test('the webhook’s proof is answered by a 403 with the token of another lock: no raise (F13, F31)', async () => {
  const answer = scene.byStub({ allowed: false, status: REFUSAL }, REFUSAL.message);
  await expectNoRaise(scene.environment, 'another-token', answer);
});
