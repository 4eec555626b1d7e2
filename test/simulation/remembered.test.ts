import { expect, test } from '@jest/globals';
import { EVENT } from '../../functions/domain/names.ts';
import { feasibility } from '../../functions/feasibility/handle.ts';
import { aBlockedTenant, give, wakeUp } from './one-step.ts';

test('a no that an API server only remembers is not believed', async () => {
  const model = aBlockedTenant({ behind: () => 1 });
  give(model);
  const { reply } = await wakeUp(feasibility, model);
  expect(reply?.type).toBe(EVENT.migrationFeasible);
});

test('what an API server remembers may lack the migration that the event is about', async () => {
  const model = aBlockedTenant({ behind: () => 100 });
  give(model);
  const { reply } = await wakeUp(feasibility, model);
  expect(reply?.type).toBe(EVENT.migrationFeasible);
});
