import { expect, test } from '@jest/globals';
import { EVENT } from '../../functions/domain/names.ts';
import { feasibility } from '../../functions/feasibility/handle.ts';
import { VMMRQS } from '../../functions/kubernetes/resources.ts';
import { lock } from '../../functions/lock/handle.ts';
import type { Model } from './model/model.ts';
import { TENANT } from './objects.ts';
import { aBlockedTenant, give, wakeUp } from './one-step.ts';

const take = ({ store }: Model): void =>
  void store.delete({ kind: VMMRQS.kind, namespace: TENANT, name: 'more' });

test('a no that an API server only remembers is not believed', async () => {
  const model = aBlockedTenant({ behind: () => 1 });
  give(model);
  const { reply } = await wakeUp(feasibility, model);
  expect(reply?.type).toBe(EVENT.migrationFeasible);
});

test('a yes that an API server only remembers is said, and lock does not lock for it', async () => {
  const behind = { revisions: 0 };
  const model = aBlockedTenant({ behind: () => behind.revisions });
  give(model);
  take(model);
  expect((await wakeUp(feasibility, model)).reply?.type).toBe(EVENT.migrationInfeasible);
  behind.revisions = 1;
  expect((await wakeUp(feasibility, model)).reply?.type).toBe(EVENT.migrationFeasible);

  const before = model.store.revision;
  expect(await wakeUp(lock, model)).toMatchObject({ reason: 'NoVirtualMachineMigrationResourceQuota' });
  expect(model.store.revision).toBe(before);
});

test('what an API server remembers may lack the migration that the event is about', async () => {
  const model = aBlockedTenant({ behind: () => 100 });
  give(model);
  const { reply } = await wakeUp(feasibility, model);
  expect(reply?.type).toBe(EVENT.migrationFeasible);
});
