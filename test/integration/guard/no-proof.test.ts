import { test } from '@jest/globals';
import { WEBHOOK } from '../../../functions/domain/names.ts';
import { proofScene, type ProofScene } from '../../support/proof-scene.ts';
import { expectNoRaise, nameOf, type Answer } from '../../support/no-raise.ts';

const scene = proofScene();

/** The exact form of the guard's refusal, with this value in place of the token. */
const refusalWith = (token: string): Parameters<ProofScene['byStub']>[0] => ({
  allowed: false,
  status: {
    code: 403,
    reason: 'Forbidden',
    message: 'a refusal that proves nothing',
    details: { causes: [{ reason: WEBHOOK.locked, message: token }] },
  },
});

const ANSWERS: Readonly<Record<string, Answer>> = {
  'a 403 without any token': scene.byStub(
    { allowed: false, status: { code: 403, reason: 'Forbidden', message: 'no token here' } },
    'no token here',
  ),
  'a 403 with the token of another lock': scene.byStub(
    refusalWith('00000000-0000-4000-8000-000000000000'),
    'a refusal that proves nothing',
  ),
  'nobody, since the guard is down': {
    arrange: () => scene.environment.cluster.killGuard(),
    putRight: () => scene.environment.cluster.startGuard(),
    reason: 'failed calling webhook',
  },
};

test.each(Object.entries(ANSWERS))(
  'the webhook’s proof is answered by %s: no raise (F13, F31)',
  async (what, answer) => {
    await expectNoRaise(scene.environment, nameOf(what), answer);
  },
);
