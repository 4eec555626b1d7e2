import { expect, test } from '@jest/globals';
import { HOOKS, PLAN_MIGRATIONS } from '../../../../functions/kubernetes/live-resources.ts';
import type { Right } from '../../../../functions/live/plan/rights-needed.ts';
import { aHook } from '../../../support/builders/live.ts';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';

const at = (name: string): { namespace: string; name: string } => ({ namespace: 'tenant', name });

/** The conditions of a Plan with a hook of the account `deployer`, which is not there. */
async function shown(forbids: (right: Right) => boolean): Promise<string[]> {
  const run = await ModelledRun.prepareReady();
  await run.hub.delete(PLAN_MIGRATIONS, at('migration'));
  const { metadata, spec } = aHook();
  const own = { ...at('hook'), annotations: metadata.annotations ?? {} };
  await run.hub.create(HOOKS, { metadata: own, spec: { ...spec, serviceAccount: 'deployer' } });
  const hooks = [{ step: 'PreHook', hook: at('hook') }];
  await run.patchPlan({ spec: { vms: [{ namespace: 'vms', name: 'web', hooks }] } });
  run.forbids = forbids;
  await run.resync('Plan');
  return conditionsOf((await run.plan()).status);
}

test.each<[string, (right: Right) => boolean, string]>([
  ['who may read it', () => false, 'HookServiceAccountNotValid NotFound'],
  ['who may not', ({ resource, name }) => resource === 'serviceaccounts' && name === 'deployer', 'Ready'],
])('a missing ServiceAccount of a hook is shown to a requester %s', async (...row) => {
  const [, forbids, condition] = row;
  expect(await shown(forbids)).toContain(condition);
});
