import { afterAll, beforeAll } from '@jest/globals';
import { WITH_WEBHOOKS } from '../environment/admission-mode.ts';
import { guardWebhooks, type GuardWebhooks } from '../faults/guard-webhooks.ts';
import type { Answer } from '../invariants/no-raise.ts';
import { startStubWebhook, type StubWebhook } from '../faults/stub-webhook.ts';
import { startTestEnvironment, type TestEnvironment } from '../environment/test-environment.ts';

type StubAnswer = Parameters<StubWebhook['respondWith']>[0];

/** An installation whose guard a stub can replace. Its getters work in tests only. */
export interface ProofScene {
  readonly environment: TestEnvironment;
  readonly stubWebhook: StubWebhook;
  readonly webhooks: GuardWebhooks;
  /** The stub answers in the guard's place. */
  byStub(answer: StubAnswer, reason: string): Answer;
}

/** Starts it before the tests of a file, and stops it after them. */
export function proofScene(): ProofScene {
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
  return {
    get environment() {
      return environment;
    },
    get stubWebhook() {
      return stubWebhook;
    },
    get webhooks() {
      return webhooks;
    },
    byStub: (answer, reason) => ({
      arrange: async () => {
        stubWebhook.respondWith(answer);
        await webhooks.pointTo(stubWebhook, reason);
      },
      putRight: () => webhooks.restore(),
      reason,
    }),
  };
}
