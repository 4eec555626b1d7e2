import { expect, test } from '@jest/globals';
import { EVENT, KIND } from '../../../functions/domain/names.ts';
import type { Vmmrq } from '../../../functions/domain/objects.ts';
import { feasibility } from '../../../functions/feasibility/handle.ts';
import { annotated } from '../../support/builders/object.ts';
import { aBlockedTenant, GIVES, runStep } from '../world/one-step.ts';
import { TENANT, vmmrq } from '../world/objects.ts';

const version = (uid: string, generation: number, spec: Vmmrq['spec']): Vmmrq => {
  const { metadata, ...rest } = vmmrq('more', uid, spec);
  return { ...rest, metadata: { ...metadata, generation } };
};
const TOO_LITTLE = { additionalMigrationResources: { 'requests.cpu': '1m' } };
const READ = version('uid-of-more', 1, TOO_LITTLE);

/** Otherwise the newer version had a verdict about the older one, and `feasibility` skipped its event. */
test.each<[string, Vmmrq, boolean]>([
  ['edited: the verdict is dropped', version('uid-of-more', 2, GIVES), false],
  ['deleted and created again: the verdict is dropped', version('uid-of-another', 1, GIVES), false],
  ['annotated: the verdict is written', annotated('by', 'manifest')(READ), true],
])('after feasibility read it, a VMMRQ is %s', async (_, newer, isWritten) => {
  const model = aBlockedTenant();
  const { store } = model;
  const later: (() => Promise<void>)[] = [];
  store.put(READ);
  const inBackground = (work: () => Promise<void>): void => void later.push(work);
  const request = { type: EVENT.resyncRequested, id: 'event-1', namespace: TENANT };
  await runStep(feasibility, { ...model, context: { inBackground } }, request);
  store.put(newer);
  for (const work of later) await work();
  const { kind } = KIND.vmmrq;
  const { status } = store.get<Vmmrq>({ kind, namespace: TENANT, name: 'more' }) ?? {};
  expect({ later: later.length, isWritten: status?.conditions !== undefined }).toEqual({
    later: 1,
    isWritten,
  });
});
