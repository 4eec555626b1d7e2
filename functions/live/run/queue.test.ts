import { expect, test } from '@jest/globals';
import { aPlan, aPlanMigration } from '../../../test/support/builders/live.ts';
import { createdAt, seconds } from '../../../test/support/builders/object.ts';
import { rawText } from '../../../test/support/raw-text.ts';
import type { LiveCondition, MigrationStatus, PlanMigration } from '../../domain/live/forklift.ts';
import { LIVE_FINALIZER } from '../../domain/live/names.ts';
import { inRunOrder, migrationBefore, waitingForMigration } from './queue.ts';

/** A Migration of the plan, so many seconds old. */
const aged = (
  name: string,
  age: number,
  { status, ...metadata }: Partial<PlanMigration['metadata']> & { status?: MigrationStatus } = {},
): PlanMigration => {
  const one = createdAt(-age)(aPlanMigration());
  return {
    ...one,
    metadata: { ...one.metadata, name, uid: `uid-of-${name}`, ...metadata },
    ...(status && { status }),
  };
};
const OWN = aged('own', 10);
const HELD = { finalizers: [LIVE_FINALIZER] };
const STARTED = { status: { started: seconds(0) } };
const ENDED = { status: { started: seconds(0), completed: seconds(1) } };
const FAILED: LiveCondition = {
  ...{ type: 'Failed', status: 'True', category: 'Advisory', lastTransitionTime: seconds(1) },
  items: ['VirtualMachine target/web'],
};
const LEFT = {
  status: { ...ENDED.status, vms: [{ name: 'web', phase: 'Completed', pipeline: [], conditions: [FAILED] }] },
};
const REFUSED: { status: MigrationStatus } = {
  status: {
    conditions: [
      { type: 'NotAllowed', status: 'True', category: 'Critical', lastTransitionTime: seconds(0) },
    ],
  },
};

test.each<[string, readonly PlanMigration[], string | undefined]>([
  ['there is no other one', [OWN], undefined],
  ['an older one has not begun', [OWN, aged('old', 20)], 'old'],
  ['a newer one has not begun', [OWN, aged('new', 5)], undefined],
  ['one of the same second comes before it by name', [OWN, aged('before', 10)], 'before'],
  ['one of the same second comes after it by name', [OWN, aged('path', 10)], undefined],
  ['an older one has ended', [OWN, aged('old', 20, ENDED)], undefined],
  ['an older one has ended, and leaves something over', [OWN, aged('old', 20, { ...ENDED, ...HELD })], 'old'],
  ['a newer one runs', [OWN, aged('new', 5, { ...STARTED, ...HELD })], 'new'],
  ['an older one is being deleted', [OWN, aged('old', 20, { deletionTimestamp: seconds(0) })], undefined],
  ['the user of an older one may not run it', [OWN, aged('old', 20, REFUSED)], undefined],
  [
    'an older one is of another plan',
    [OWN, { ...aged('old', 20), spec: { plan: { namespace: 'tenant', name: 'other' } } }],
    undefined,
  ],
  ['several come first: the oldest is named', [OWN, aged('old', 20), aged('oldest', 30)], 'oldest'],
])('%s', (_what, all, wanted) => {
  expect(migrationBefore(OWN, aPlan(), all)?.metadata.name).toBe(wanted);
});

test('they run by age, then by name', () => {
  const all = [aged('b', 10), aged('c', 20), aged('a', 10)];
  expect(inRunOrder(all).map(({ metadata }) => metadata.name)).toEqual(['c', 'a', 'b']);
});

test.each<[string, PlanMigration, string]>([
  ['runs', aged('old', 20), 'Waiting for the end of Migration tenant/old.'],
  [
    'has leftovers',
    aged('old', 20, LEFT),
    'Something is left over of Migration tenant/old, which has ended. ' +
      'See its status.leftovers. If nothing can be done: kubectl annotate',
  ],
  [
    'runs in another namespace',
    aged('old', 20, { namespace: 'other' }),
    'Waiting for the end of a Migration of another namespace.',
  ],
  [
    'has leftovers in another namespace',
    aged('old', 20, { ...LEFT, namespace: 'other' }),
    'Something is left over of a Migration of another namespace, which has ended. ' +
      'Let an admin see the status.leftovers of the Migrations of this Plan in all namespaces.',
  ],
])('says which one comes first, if that %s', (_what, first, wanted) => {
  const { message, suggestion } = waitingForMigration(OWN, first);
  expect(
    [message, suggestion]
      .map((text) => rawText(text))
      .join(' ')
      .trim(),
  ).toMatch(wanted);
});
