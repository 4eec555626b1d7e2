import { describe, expect, test } from '@jest/globals';
import { lockOf, type Lock } from '../../../functions/domain/lock.ts';
import { EVENT, REASON } from '../../../functions/domain/names.ts';
import type { Namespace } from '../../../functions/domain/objects.ts';
import { lastAttemptOf } from '../../../functions/domain/verdict/attempt.ts';
import type { View } from '../../../functions/domain/view.ts';
import type { Outcome } from '../../../functions/host/step.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { lock } from '../../../functions/lock/handle.ts';
import { aView } from '../../support/builders/snapshot.ts';
import type { Model } from '../model/model.ts';
import { TENANT } from '../world/objects.ts';
import { aBlockedTenant, give, runStep } from '../world/one-step.ts';

const QUEUED = aView({ open: { queued: ['uid-of-mig0'], status: false } });

interface Look {
  readonly outcome: Outcome;
  readonly namespace: Namespace | undefined;
  /** How often the guard was asked. */
  readonly asked: number;
  readonly hasWritten: boolean;
  readonly model: Model;
}

/** `lock`, whose look takes this long (a cold start, say), and what the guard answers then, if it is asked again. */
async function look(ms: number, again: View | undefined): Promise<Look> {
  const model = aBlockedTenant();
  give(model);
  const before = model.store.revision;
  let asked = 0;
  const view = (): Promise<View | undefined> => {
    asked += 1;
    if (asked > 1) return Promise.resolve(again);
    model.clock.now += ms;
    return Promise.resolve(aView());
  };
  const request = { type: EVENT.migrationFeasible, id: 'event-1', namespace: TENANT };
  const outcome = await runStep(lock, { ...model, context: { view } }, request);
  const namespace = model.store.get<Namespace>({ kind: NAMESPACES.kind, name: TENANT });
  return { outcome, namespace, asked, hasWritten: model.store.revision !== before, model };
}

const lockIn = ({ namespace }: Look): Lock | undefined => {
  const state = namespace && lockOf(namespace);
  return state?.kind === 'held' ? state.lock : undefined;
};

describe('a lock whose look took more than a second', () => {
  test('is not taken where the migration slot is gone by then: nothing is written, and nothing charged', async () => {
    const slow = await look(1_001, QUEUED);
    expect(slow.asked).toBe(2);
    expect(slow.outcome).toMatchObject({
      reason: REASON.parallelLimit,
      reply: { type: EVENT.migrationInfeasible, reason: REASON.parallelLimit },
    });
    expect(slow.outcome.message).toContain('no migration slot left for mig0');
    expect([lockIn(slow), slow.hasWritten]).toEqual([undefined, false]);
    expect(slow.namespace && lastAttemptOf(slow.namespace, slow.model.clock.now)).toBeUndefined();
  });

  test.each<[string, View | undefined]>([
    ['the slot is there', aView()],
    ['others wait for a slot', aView({ open: { queued: ['uid-of-mig1'], status: false } })],
    ['the guard does not answer: `raise` asks it again', undefined],
  ])('is taken where %s', async (_, again) => {
    const slow = await look(1_001, again);
    expect(slow.asked).toBe(2);
    expect(slow.outcome.reply?.type).toBe(EVENT.namespaceLocked);
    expect(lockIn(slow)?.migrations.map(({ name }) => name)).toEqual(['mig0']);
  });
});

test('a look of up to a second asks the guard once', async () => {
  const fast = await look(1_000, QUEUED);
  expect([fast.asked, fast.outcome.reply?.type]).toEqual([1, EVENT.namespaceLocked]);
});
