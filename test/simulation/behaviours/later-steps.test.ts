import { expect, test } from '@jest/globals';
import { lockOf } from '../../../functions/domain/lock.ts';
import { EVENT, REASON } from '../../../functions/domain/names.ts';
import type { Namespace } from '../../../functions/domain/objects.ts';
import { NotYet, type Outcome } from '../../../functions/host/step.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { lock } from '../../../functions/lock/handle.ts';
import type { Model } from '../model/model.ts';
import { TENANT } from '../world/objects.ts';
import { aBlockedTenant, give, runStep } from '../world/one-step.ts';

/** `lock` for a blocked tenant, where the later steps' functions answer like this. */
function locking(silentSteps: (model: Model) => readonly string[]): {
  readonly model: Model;
  readonly outcome: Promise<Outcome>;
} {
  const model = aBlockedTenant();
  give(model);
  const context = { silentSteps: () => Promise.resolve(silentSteps(model)) };
  const event = { type: EVENT.migrationFeasible, id: 'event-1', namespace: TENANT, vmis: ['vm0'] };
  return { model, outcome: runStep(lock, { ...model, context }, event) };
}

const lockIn = ({ store }: Model): string =>
  lockOf(store.get<Namespace>({ kind: NAMESPACES.kind, name: TENANT }) as Namespace).kind;

test('nothing is locked while a function does not answer: lock says which, and gets its event again', async () => {
  const { model, outcome } = locking(() => ['http://raise']);
  await expect(outcome).rejects.toThrow(NotYet);
  await expect(outcome).rejects.toMatchObject({
    reason: REASON.functionsSilent,
    message: 'nothing is locked, because these functions do not answer yet: http://raise',
  });
  expect(lockIn(model)).toBe('none');
});

test.each<[string, number, number]>([
  ['at once: it locks', 0, 1],
  ['after two seconds: it reads the namespace again, and locks', 2_000, 2],
])('they answer %s', async (_, ms, want) => {
  let asked = 0;
  const { model, outcome } = locking(({ clock }) => {
    asked += 1;
    if (asked === 1) clock.now += ms;
    return [];
  });
  expect((await outcome).reason).toBe(REASON.locked);
  expect(asked).toBe(want);
  expect(lockIn(model)).toBe('held');
});

test('a namespace that must not be locked waits for no function', async () => {
  const model = aBlockedTenant();
  const context = { silentSteps: () => Promise.reject(new Error('must not be asked')) };
  const event = { type: EVENT.migrationFeasible, id: 'event-1', namespace: TENANT, vmis: ['vm0'] };
  expect((await runStep(lock, { ...model, context }, event)).reason).toBe(REASON.noVmmrq);
});
