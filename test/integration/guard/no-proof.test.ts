import { afterAll, beforeAll, test } from '@jest/globals';
import { WEBHOOK } from '../../../functions/domain/names.ts';
import { guardWebhooks, type GuardWebhooks } from '../../support/guard-webhooks.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/test-environment.ts';
import { startStubWebhook, type StubWebhook } from '../../support/stub-webhook.ts';
import { expectNoRaise, nameOf, type Answer } from '../../support/no-raise.ts';
import { WITH_WEBHOOKS } from '../../support/admission-mode.ts';

let environment: TestEnvironment;
let stubWebhook: StubWebhook;
let webhooks: GuardWebhooks;

beforeAll(async () => {
  [environment, stubWebhook] = await Promise.all([
    startTestEnvironment({ admissionMode: WITH_WEBHOOKS }),
    startStubWebhook(),
  ]);
  webhooks = await guardWebhooks(environment);
});

afterAll(async () => {
  await stubWebhook.stop();
  await environment.stop();
});

const byStub = (answer: Parameters<StubWebhook['respondWith']>[0], reason: string): Answer => ({
  arrange: async () => {
    stubWebhook.respondWith(answer);
    await webhooks.pointTo(stubWebhook, reason);
  },
  putRight: () => webhooks.restore(),
  reason,
});

/** The exact form of the guard's refusal, with this value in place of the token. */
const refusalWith = (token: string): Parameters<StubWebhook['respondWith']>[0] => ({
  allowed: false,
  status: {
    code: 403,
    reason: 'Forbidden',
    message: 'a refusal that proves nothing',
    details: { causes: [{ reason: WEBHOOK.locked, message: token }] },
  },
});

const ANSWERS: Readonly<Record<string, Answer>> = {
  'a 403 without any token': byStub(
    { allowed: false, status: { code: 403, reason: 'Forbidden', message: 'no token here' } },
    'no token here',
  ),
  'a 403 with the token of another lock': byStub(
    refusalWith('00000000-0000-4000-8000-000000000000'),
    'a refusal that proves nothing',
  ),
  'nobody, since the guard is down': {
    arrange: () => environment.cluster.killGuard(),
    putRight: () => environment.cluster.startGuard(),
    reason: 'failed calling webhook',
  },
};

test.each(Object.entries(ANSWERS))(
  'the webhook’s proof is answered by %s: no raise (F13, F31)',
  async (what, answer) => {
    await expectNoRaise(environment, nameOf(what), answer);
  },
);
