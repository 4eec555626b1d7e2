import { expect, test } from '@jest/globals';
import { lastAttemptOf } from '../../../functions/domain/verdict/attempt.ts';
import { EVENT, LOCK_OUTCOME, REASON } from '../../../functions/domain/names.ts';
import type { Namespace } from '../../../functions/domain/objects.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { lock } from '../../../functions/lock/handle.ts';
import { lower } from '../../../functions/lower/handle.ts';
import { unlock } from '../../../functions/unlock/handle.ts';
import { afterAttempt, anAttempt, lockedFor } from '../../support/builders/namespace.ts';
import { TENANT } from '../world/objects.ts';
import { aBlockedTenant, give, runStep } from '../world/one-step.ts';

/** Found by the simulation (seed 4061223 of that time): the process of unlock was suspended between its read and its write. */
test('unlock records the full duration of a failed lock, even when its process was suspended between its reads', async () => {
  const still = { ms: 0 };
  const model = aBlockedTenant({
    pace: ({ kind, verb }) => {
      if (kind === RESOURCE_QUOTAS.kind && verb === 'get') model.clock.now += still.ms;
      return Promise.resolve();
    },
  });
  give(model);
  // The first lock that expires in ten minutes would be free (docs/adr/0005).
  const free = { failures: 0, outcome: LOCK_OUTCOME.ourFault, reason: REASON.lockExpired };
  const at = new Date(model.clock.now - 60_000).toISOString();
  model.store.put(
    afterAttempt(anAttempt({ ...free, at, locked: lockedFor(0, at) }))(
      model.store.get<Namespace>({ kind: 'Namespace', name: TENANT }) as Namespace,
    ),
  );
  expect((await runStep(lock, model)).reply?.type).toBe(EVENT.namespaceLocked);
  model.clock.now += 31_000;
  const about = { id: 'event-1', namespace: TENANT, token: 'token' };
  await runStep(lower, model, { type: EVENT.lockExpired, ...about });
  still.ms = 10_000;
  await runStep(unlock, model, { type: EVENT.quotaLowered, ...about });

  const namespace = model.store.get<Namespace>({ kind: 'Namespace', name: TENANT });
  expect(namespace?.metadata.labels).not.toHaveProperty('mtq.kubevirt.io/locked');
  const last = namespace === undefined ? undefined : lastAttemptOf(namespace, Infinity);
  expect(last?.locked.at(-1)?.ms).toBeGreaterThanOrEqual(41_000);
});
