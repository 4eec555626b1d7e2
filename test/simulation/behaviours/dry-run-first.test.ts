import { describe, expect, test } from '@jest/globals';
import { lockOf } from '../../../functions/domain/lock.ts';
import { EVENT, LABEL, REASON } from '../../../functions/domain/names.ts';
import type { Namespace, ResourceQuota, VmmrqStatus } from '../../../functions/domain/objects.ts';
import type { View } from '../../../functions/domain/view.ts';
import { lastAttemptOf } from '../../../functions/domain/verdict/attempt.ts';
import type { StepRequest } from '../../../functions/eventing/step-request.ts';
import type { Outcome } from '../../../functions/host/step.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { Unreachable } from '../../../functions/kubernetes/errors.ts';
import { feasibility } from '../../../functions/feasibility/handle.ts';
import { lock } from '../../../functions/lock/handle.ts';
import { raise } from '../../../functions/raise/handle.ts';
import { aLock, lockedBy } from '../../support/builders/namespace.ts';
import { aView } from '../../support/builders/snapshot.ts';
import type { ApiServerParts } from '../model/api-server.ts';
import type { Attributes } from '../model/attributes.ts';
import type { Model } from '../model/model.ts';
import { quota, TENANT, tenantNamespace, vmmrq } from '../world/objects.ts';
import { aBlockedTenant, FULL, give, GIVES, runStep, type Reached } from '../world/one-step.ts';

/** A blocked tenant whose quota was never raised, and a VMMRQ that gives enough. */
function aNewTenant(parts: Partial<ApiServerParts> = {}): Model {
  const model = aBlockedTenant(parts);
  model.store.put({ ...quota('quota', 'uid-of-quota', FULL), status: { hard: FULL, used: FULL } });
  give(model);
  return model;
}

const isQuotaStatus = ({ type, subresource }: Attributes): boolean =>
  type.kind === RESOURCE_QUOTAS.kind && subresource === 'status';

const namespaceIn = ({ store }: Model): Namespace =>
  store.get<Namespace>({ kind: NAMESPACES.kind, name: TENANT }) ?? tenantNamespace('none');

const request = (type: string, more: Partial<StepRequest> = {}): StepRequest => ({
  ...{ type, id: 'event-1', namespace: TENANT },
  ...more,
});

const tryRaises = (model: Reached, more: Partial<StepRequest> = {}): Promise<Outcome> =>
  runStep(raise, model, request(EVENT.quotaUntried, { quotas: ['quota'], vmmrqs: ['more'], ...more }));

describe('lock', () => {
  test('asks for a dry run of a raise that is new, and does not lock', async () => {
    const model = aNewTenant();
    const { reason, reply } = await runStep(lock, model, request(EVENT.migrationFeasible, { vmis: ['vm0'] }));
    expect(reason).toBe(REASON.dryRunFirst);
    expect(reply).toMatchObject({
      type: EVENT.quotaUntried,
      quotas: ['quota'],
      vmmrqs: ['more'],
      migrations: [{ name: 'mig0' }],
      vmis: ['vm0'],
    });
    expect(lockOf(namespaceIn(model)).kind).toBe('none');
  });

  test('locks for the quotas that a dry run has raised', async () => {
    const model = aNewTenant();
    const { reply } = await runStep(lock, model, request(EVENT.migrationFeasible, { quotas: ['quota'] }));
    expect(reply?.type).toBe(EVENT.namespaceLocked);
  });

  test('asks for all that are new where one of them was tried alone: two that name one each would ask without end', async () => {
    const model = aNewTenant();
    model.store.put({ ...quota('second', 'uid-of-second', FULL), status: { hard: FULL, used: FULL } });
    const { reply } = await runStep(lock, model, request(EVENT.migrationFeasible, { quotas: ['quota'] }));
    expect(reply).toMatchObject({ type: EVENT.quotaUntried, quotas: ['quota', 'second'] });
    const tried = await runStep(raise, model, request(EVENT.quotaUntried, { ...reply }));
    const { quotas } = tried.reply as { readonly quotas: readonly string[] };
    const locked = await runStep(lock, model, request(EVENT.migrationFeasible, { quotas }));
    expect(locked.reply?.type).toBe(EVENT.namespaceLocked);
  });

  test('does not lock for a quota that was raised before, and refused since', async () => {
    const model = aBlockedTenant({ refuses: isQuotaStatus });
    give(model);
    await tryRaises(model);
    const { reason } = await runStep(lock, model, request(EVENT.migrationFeasible, { quotas: ['quota'] }));
    expect(reason).toBe(REASON.refusedByPolicy);
    expect(lockOf(namespaceIn(model)).kind).toBe('none');
  });
});

describe('raise, by a dry run', () => {
  test('stores nothing where the API server takes it, and names the quota to `lock`', async () => {
    const model = aNewTenant();
    const before = model.store.revision;
    const { reply } = await tryRaises(model, { vmis: ['vm0'] });
    expect(reply).toMatchObject({ type: EVENT.migrationFeasible, quotas: ['quota'], vmis: ['vm0'] });
    expect(model.store.revision).toBe(before);
  });

  test('sends the raise: more than the spec, with label and grant', async () => {
    const sent: ResourceQuota[] = [];
    const refuses = (attributes: Attributes): boolean => {
      if (isQuotaStatus(attributes)) sent.push(attributes.object as ResourceQuota);
      return false;
    };
    await tryRaises(aNewTenant({ refuses }));
    expect(sent).toMatchObject([
      {
        metadata: { labels: { [LABEL.raised]: 'true' } },
        status: { hard: { 'requests.cpu': '2', 'requests.memory': String(2 * 1_024 ** 3) }, used: FULL },
      },
    ]);
  });

  test('names a quota that is gone besides one that it has raised: `lock` reads again, and must not ask for it again', async () => {
    const { reply } = await tryRaises(aNewTenant(), { quotas: ['quota', 'nothing'] });
    expect(reply).toMatchObject({ type: EVENT.migrationFeasible, quotas: ['quota', 'nothing'] });
  });

  test('records a refusal once, and answers only what is new', async () => {
    const model = aNewTenant({ refuses: isQuotaStatus });
    const first = await tryRaises(model);
    expect(first.reason).toBe(REASON.refusedByPolicy);
    expect(first.reply).toMatchObject({ type: EVENT.migrationFeasible, quotas: [] });
    expect(lastAttemptOf(namespaceIn(model), model.clock.now)).toMatchObject({
      failures: 0,
      refused: [{ uid: 'uid-of-quota', message: expect.stringContaining('status is immutable') }],
    });
    const { revision } = model.store;
    const again = await tryRaises(model);
    expect(again.reply).toBeUndefined();
    expect(model.store.revision).toBe(revision);
  });

  test('removes the refusal when it is over', async () => {
    const policy = { isThere: true };
    const model = aNewTenant({ refuses: (attributes) => policy.isThere && isQuotaStatus(attributes) });
    await tryRaises(model);
    policy.isThere = false;
    const { reply } = await tryRaises(model);
    expect(reply).toMatchObject({ type: EVENT.migrationFeasible, quotas: ['quota'] });
    expect(lastAttemptOf(namespaceIn(model), model.clock.now)).toBeUndefined();
  });

  test('a namespace that cannot be written ends the chain of events', async () => {
    const refuses = (attributes: Attributes): boolean =>
      isQuotaStatus(attributes) || attributes.type.kind === NAMESPACES.kind;
    const { reason, reply } = await tryRaises(aNewTenant({ refuses }));
    expect([reason, reply]).toEqual([REASON.refusedByPolicy, undefined]);
  });

  test('a webhook that does not answer is no refusal: the Broker retries', async () => {
    const model = aNewTenant();
    const failing = (user: string): Cluster =>
      Object.assign(model.server.as(user), { replace: () => Promise.reject(new Unreachable('no answer')) });
    await expect(tryRaises({ ...model, server: { as: failing } })).rejects.toThrow('no answer');
    expect(lastAttemptOf(namespaceIn(model), model.clock.now)).toBeUndefined();
  });

  test.each<[string, (model: Model) => void, Partial<StepRequest>]>([
    ['a locked namespace', ({ store }) => store.put(lockedBy(aLock())(tenantNamespace('uid-of-tenant'))), {}],
    ['a namespace of the cluster', () => undefined, { namespace: 'kube-system' }],
    ['a namespace that is gone', () => undefined, { namespace: 'nowhere' }],
    ['no quota', () => undefined, { quotas: [] }],
    ['a quota that is gone', () => undefined, { quotas: ['nothing'] }],
    ['a VMMRQ that is gone', () => undefined, { vmmrqs: ['nothing'] }],
  ])('%s: nothing is tried, and nothing written', async (_, change, more) => {
    const tried: Attributes[] = [];
    const model = aNewTenant({ refuses: (attributes) => tried.push(attributes) > 0 });
    change(model);
    const before = model.store.revision;
    const { reply } = await tryRaises(model, more);
    expect([tried, reply]).toEqual([[], undefined]);
    expect(model.store.revision).toBe(before);
  });
});

describe('raise, by a dry run, beside the incumbent', () => {
  const record: VmmrqStatus = {
    originalBlockingResourceQuotas: [{ name: 'quota', spec: { hard: FULL } }],
  };

  test.each<[string, View | undefined, VmmrqStatus]>([
    ['the guard sees it', aView({ incumbent: 'the incumbent is installed' }), {}],
    ['its record is newer than the guard’s view', aView(), record],
    ['its record is there, and the guard does not answer', undefined, record],
  ])('%s: nothing is tried, and nothing written', async (_, view, status) => {
    const tried: Attributes[] = [];
    const model = aNewTenant({ refuses: (attributes) => tried.push(attributes) > 0 });
    model.store.put({ ...vmmrq('more', 'uid-of-more', GIVES), status });
    const before = model.store.revision;
    const context = { view: () => Promise.resolve(view) };
    const { reason, reply } = await tryRaises({ ...model, context });
    expect([reason, reply, tried]).toEqual([REASON.incumbentPresent, undefined, []]);
    expect(model.store.revision).toBe(before);
  });

  test('where the guard does not answer, the incumbent may be there: no refusal is recorded', async () => {
    const model = aNewTenant({ refuses: isQuotaStatus });
    const before = model.store.revision;
    const context = { view: () => Promise.resolve(undefined) };
    const { reason, message, reply } = await tryRaises({ ...model, context });
    expect([reason, reply]).toEqual([REASON.refusedByPolicy, undefined]);
    expect(message).toContain('status is immutable');
    expect(model.store.revision).toBe(before);
  });

  test('where the guard does not answer, a raise that passes goes to `lock`, which asks the API server for the incumbent', async () => {
    const context = { view: () => Promise.resolve(undefined) };
    const { reply } = await tryRaises({ ...aNewTenant(), context });
    expect(reply).toMatchObject({ type: EVENT.migrationFeasible, quotas: ['quota'] });
  });
});

test('feasibility tries a refused raise again at each look, because no event says that a policy has changed', async () => {
  const model = aNewTenant({ refuses: isQuotaStatus });
  await tryRaises(model);
  const resync = await runStep(feasibility, model, request(EVENT.resyncRequested));
  expect(resync.reply).toMatchObject({ type: EVENT.quotaUntried, quotas: ['quota'], vmmrqs: ['more'] });
  const report = await runStep(
    feasibility,
    model,
    request(EVENT.migrationInfeasible, { source: '/mtq/lock' }),
  );
  expect(report.reply).toBeUndefined();
  expect(report.message).toContain('status is immutable');
});
