import { expect, test } from '@jest/globals';
import { REASON } from '../../../functions/domain/names.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ApiError, Unreachable } from '../../../functions/kubernetes/errors.ts';
import { feasibility } from '../../../functions/feasibility/handle.ts';
import type { Outcome } from '../../../functions/host/step.ts';
import { quota } from '../world/objects.ts';
import { aBlockedTenant, FULL, runStep } from '../world/one-step.ts';

const WITH_HEADROOM = { 'requests.cpu': '4', 'requests.memory': '8Gi' };

/** The quota has headroom by now, so the migration is to be nudged. */
function nudging(error: Error): Promise<Outcome> {
  const model = aBlockedTenant();
  model.store.put({
    ...quota('quota', 'uid-of-quota', WITH_HEADROOM),
    status: { hard: WITH_HEADROOM, used: FULL },
  });
  const as = (user: string): Cluster =>
    Object.assign(model.server.as(user), { patch: () => Promise.reject(error) });
  return runStep(feasibility, { ...model, server: { as } });
}

test('a nudge that is refused, because the annotations are full, keeps no verdict back', async () => {
  const refused = new ApiError('PATCH', { code: 422, reason: 'Invalid', message: 'too long' }, new Date(0));
  expect((await nudging(refused)).reason).toBe(REASON.fits);
});

test('one that is not answered is tried again with the event', async () => {
  await expect(nudging(new Unreachable('no answer'))).rejects.toThrow('no answer');
});
