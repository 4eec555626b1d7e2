import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { aHost, aPlan, aPlanMigration } from '../../test/support/builders/live.ts';
import type { Plan } from '../../functions/domain/live/forklift.ts';
import { systemClock, type Clock } from '../../functions/runtime/clock.ts';
import type { AdmissionRequest, Decision } from '../admission/admission.ts';
import { newForkliftReviews } from './reviews-in-turn.ts';

const plan = aPlan((one: Plan) => ({
  ...one,
  spec: { ...one.spec, vms: Array.from({ length: 200 }, (_, n) => ({ name: 'web', namespace: `vms-${n}` })) },
}));

const create = {
  ...{ uid: 'u', dryRun: false, operation: 'CREATE', namespace: 'tenant' },
  ...{ object: aPlanMigration(), oldObject: null, userInfo: { username: 'tom', groups: [] } },
  resource: { group: 'forklift.konveyor.io', version: 'v1beta1', resource: 'migrations' },
} as unknown as AdmissionRequest;

/** The guard of a cluster where this plan moves VMs and its user may do anything; `counts` of the SubjectAccessReviews. */
function guardOf(clock: Clock = { ...systemClock, elapsed: () => 0 }) {
  const counts = { asked: 0, open: 0, maxOpen: 0 };
  const cluster = {
    get: ({ kind }: { kind: string }) =>
      Promise.resolve({ object: kind === 'Plan' ? plan : aHost(), date: new Date() }),
    create: async () => {
      counts.asked += 1;
      counts.open += 1;
      counts.maxOpen = Math.max(counts.maxOpen, counts.open);
      await turn();
      counts.open -= 1;
      return { object: { status: { allowed: true } }, date: new Date() };
    },
  };
  const review = newForkliftReviews({ cluster: cluster as never, allowLoopback: false, clock });
  return { counts, review: (): Promise<Decision> => review(create) };
}

test('twenty Migrations of 200 namespaces at once have forty reviews of rights open', async () => {
  const { counts, review } = guardOf();
  const decisions = await Promise.all(Array.from({ length: 20 }, review));
  expect(decisions.map(({ allowed }) => allowed)).toEqual(Array.from({ length: 20 }, () => true));
  expect([counts.maxOpen, counts.asked]).toEqual([40, 20 * (1 + 1 + 3 * 200 + 3)]);
});

test('a review that is late asks no more', async () => {
  let now = 0;
  const { counts, review } = guardOf({ ...systemClock, elapsed: () => (now += 100) });
  await expect(review()).rejects.toThrow('in time');
  expect(counts.asked).toBeLessThan(25);
});
