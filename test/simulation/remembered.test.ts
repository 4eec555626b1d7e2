import { expect, test } from '@jest/globals';
import type { Wake } from '../../functions/domain/events.ts';
import { EVENT, KIND, SOURCE_EVENT } from '../../functions/domain/names.ts';
import { toldBy } from '../../functions/domain/told.ts';
import { feasibility } from '../../functions/feasibility/handle.ts';
import { VMMRQS } from '../../functions/kubernetes/resources.ts';
import { lock } from '../../functions/lock/handle.ts';
import type { Outcome, Step, Tools } from '../../functions/step.ts';
import { aModel, type Model } from './model/model.ts';
import {
  LAUNCHER,
  launcherPod,
  migration,
  quota,
  refused,
  running,
  TENANT,
  tenantNamespace,
  vmi,
  vmmrq,
} from './objects.ts';

const GIVES = { additionalMigrationResources: { 'requests.cpu': '1', 'requests.memory': '1Gi' } };
const FULL = { 'requests.cpu': '1', 'requests.memory': '1Gi' };
const BLOCKED = refused(migration('mig0', 'vm0'), 'uid-of-mig0');

/** A migration that a full quota refuses; what is remembered is so many revisions behind. */
function aBlockedTenant(behind: { revisions: number }): Model {
  const model = aModel({ behind: () => behind.revisions });
  const { store } = model;
  const vm = vmi('vm0', 'uid-of-vm0');
  store.put(tenantNamespace('uid-of-tenant'));
  store.put(vm);
  store.put(running(launcherPod(vm, { takes: LAUNCHER })));
  store.put({ ...quota('quota', 'uid-of-quota', FULL), status: { hard: FULL, used: FULL } });
  store.put(BLOCKED);
  return model;
}

/** The step's answer to the source's event about the refused migration. */
function wakeUp(step: Step, model: Model): Promise<Outcome> {
  const told = toldBy(BLOCKED, { kind: KIND.migration.kind, namespace: TENANT });
  const wake: Wake = {
    type: SOURCE_EVENT.update,
    id: 'wake',
    namespace: TENANT,
    kind: KIND.migration.kind,
    ...(told === undefined ? {} : { told }),
  };
  return step.handle(wake, toolsOn(model));
}

const toolsOn = ({ server, clock }: Model): Tools => ({
  cluster: server.as(`system:serviceaccount:mtq-system:mtq`),
  clock: { elapsed: () => clock.now, now: () => new Date(clock.now), after: () => () => undefined },
  settings: {
    KUBEVIRT_NAMESPACE: 'kubevirt',
    LOCK_SECONDS: 30,
    STALL_SECONDS: 3,
    SETTLE_MS: 0,
    WAKE_URLS: [],
  },
  log: () => undefined,
  newToken: () => 'token',
  post: () => Promise.resolve(),
  wakeLaterSteps: () => Promise.resolve(),
  afterwards: () => undefined,
});

const give = ({ store }: Model): void => void store.put(vmmrq('more', 'uid-of-more', GIVES));
const take = ({ store }: Model): void =>
  void store.delete({ kind: VMMRQS.kind, namespace: TENANT, name: 'more' });

test('a no that an API server only remembers is not believed', async () => {
  const model = aBlockedTenant({ revisions: 1 });
  give(model);
  const { reply } = await wakeUp(feasibility, model);
  expect(reply?.type).toBe(EVENT.migrationFeasible);
});

test('a yes that an API server only remembers is said, and lock does not lock for it', async () => {
  const behind = { revisions: 0 };
  const model = aBlockedTenant(behind);
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
  const model = aBlockedTenant({ revisions: 100 });
  give(model);
  const { reply } = await wakeUp(feasibility, model);
  expect(reply?.type).toBe(EVENT.migrationFeasible);
});
