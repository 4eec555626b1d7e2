import { EVENT, REASON } from '../../functions/domain/names.ts';
import { newFunction, type Handle } from '../../functions/host/function.ts';
import { systemClock } from '../../functions/runtime/clock.ts';
import type { Step, StepContext } from '../../functions/host/step.ts';

/** A stand-in for `lock` without an API server: it always locks the namespace. */
const lock: Step = {
  name: 'lock',
  triggers: [{ type: EVENT.migrationFeasible }],
  replies: [EVENT.namespaceLocked],
  handle: ({ namespace }) =>
    Promise.resolve({
      reason: REASON.locked,
      message: 'locked',
      reply: {
        type: EVENT.namespaceLocked,
        from: 'lock',
        namespace,
        token: 'token-1',
        migrations: [{ name: 'mig0', uid: 'uid-of-mig0' }],
      },
    }),
};

/** A Knative function that replies; faas.test.ts bundles it like the real one. */
export const handle: Handle = newFunction([lock], {
  log: () => undefined,
  clock: systemClock,
} as unknown as StepContext);
