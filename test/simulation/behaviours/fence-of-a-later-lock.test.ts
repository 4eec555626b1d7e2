import { expect, test } from '@jest/globals';
import { ANNOTATION, EVENT, KIND, SOURCE_EVENT } from '../../../functions/domain/names.ts';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { parseEventObject } from '../../../functions/eventing/event-object.ts';
import type { StepRequest } from '../../../functions/eventing/step-request.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { lower } from '../../../functions/lower/handle.ts';
import { fenceRemovedLock } from '../../../webhook/watchdog/removed-lock.ts';
import { aLock, lockedBy } from '../../support/builders/namespace.ts';
import { annotated } from '../../support/builders/object.ts';
import { aGrant, holding } from '../../support/builders/quota.ts';
import type { Model } from '../model/model.ts';
import { LAUNCHER, launcherPod, quota, running, TENANT, tenantNamespace, vmi } from '../world/objects.ts';
import { aBlockedTenant, BLOCKED, FULL, runStep } from '../world/one-step.ts';

/*
 * A writer of the lock `old` stands still. Meanwhile the lock `next` is taken, raised and lowered. Over its fence `old` must not write
 * its own: a delayed raise of `next` would land again, and a delayed unlock would unlock the raised namespace.
 */

const QUOTAS = [
  { name: 'quota', uid: 'uid-of-quota' },
  { name: 'second', uid: 'uid-of-second' },
];
const lockFor = (token: string): ReturnType<typeof aLock> =>
  aLock({ token, migrations: [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0' }], quotas: QUOTAS });

const NAMESPACE = tenantNamespace('uid-of-tenant');
const FENCED = 'next admitted';

type Reference = (typeof QUOTAS)[number];

const unraised = ({ name, uid }: Reference): ResourceQuota => ({
  ...quota(name, uid, FULL),
  status: { hard: FULL, used: FULL },
});

const raised = ({ name, uid }: Reference): ResourceQuota => {
  const RAISED = { ...FULL, 'requests.cpu': '2' };
  const amounts = { raised: { 'requests.cpu': '2' }, target: { 'requests.cpu': '2' } };
  const grant = holding(aGrant({ token: 'old', ...amounts, quotas: QUOTAS }))(quota(name, uid, FULL));
  const identity = annotated(ANNOTATION.migrations, 'uid-of-mig0/uid-of-vm0')(grant);
  return { ...identity, status: { hard: RAISED, used: RAISED } };
};

function aTenant(quotas: readonly ResourceQuota[]): Model {
  const model = aBlockedTenant();
  model.store.put(lockedBy(lockFor('old'))(NAMESPACE));
  for (const each of quotas) model.store.put(each);
  return model;
}

const lockedAndLowered = ({ store }: Model): void => {
  store.put(lockedBy(lockFor('next'))(NAMESPACE));
  for (const each of QUOTAS) store.put(annotated(ANNOTATION.lastRelease, FENCED)(unraised(each)));
};

/** `next` is locked, raised and lowered just before the first read of this quota. */
function meanwhile(model: Model, name: string): { as: (user: string) => Cluster } {
  let isOver = false;
  const as = (user: string): Cluster => {
    const cluster = model.server.as(user);
    const read = cluster.get.bind(cluster);
    const get: Cluster['get'] = (type, at) => {
      if (at.name === name && !isOver) {
        isOver = true;
        lockedAndLowered(model);
      }
      return read(type, at);
    };
    return Object.assign(cluster, { get });
  };
  return { as };
}

const fences = ({ store }: Model): unknown[] =>
  QUOTAS.map(
    ({ name }) =>
      store.get<ResourceQuota>({ kind: 'ResourceQuota', namespace: TENANT, name })?.metadata.annotations?.[
        ANNOTATION.lastRelease
      ],
  );

test('lower, which has read the old lock, leaves the fence of the next one', async () => {
  const model = aTenant(QUOTAS.map(unraised));
  const ended = { ...lockFor('old'), ended: { reason: 'NoProof', message: 'no proof' } };
  model.store.put(lockedBy(ended)(NAMESPACE));
  const request = { type: EVENT.lockExpired, id: 'event-1', namespace: TENANT, token: 'old' };
  await runStep(lower, { ...model, server: meanwhile(model, 'quota') }, request);
  expect(fences(model)).toEqual([FENCED, FENCED]);
});

test('lower, which has read one raised quota, leaves the fence of the next lock on the other', async () => {
  const model = aTenant(QUOTAS.map(raised));
  const pod = launcherPod(vmi('vm0', 'uid-of-vm0'), { migration: BLOCKED, requests: LAUNCHER });
  model.store.put(running({ ...pod, metadata: { ...pod.metadata, name: 'target', uid: 'uid-of-target' } }));
  const of = { kind: KIND.quota.kind, namespace: TENANT };
  const eventObject = parseEventObject(raised({ name: 'quota', uid: 'uid-of-quota' }), of);
  const request: StepRequest = { type: SOURCE_EVENT.update, id: 'event-1', ...of };
  await runStep(
    lower,
    { ...model, server: meanwhile(model, 'second') },
    { ...request, ...(eventObject && { eventObject }) },
  );
  expect(fences(model)).toEqual([FENCED, FENCED]);
});

test.each([
  ['has read the namespace without a lock', (): void => undefined],
  ['starts', lockedAndLowered],
])(
  'the next lock is lowered after the guard %s: the fence of a removed lock leaves its fence',
  async (_, before) => {
    const model = aTenant(QUOTAS.map(unraised));
    model.store.put(NAMESPACE);
    before(model);
    const server = meanwhile(model, 'quota');
    await fenceRemovedLock(server.as('system:serviceaccount:mtq-system:mtq-guard'), TENANT, lockFor('old'));
    expect(fences(model)).toEqual([FENCED, FENCED]);
  },
);

test('the fence of an older lock is replaced by the guard', async () => {
  const model = aTenant(QUOTAS.map(unraised));
  lockedAndLowered(model);
  model.store.put(NAMESPACE);
  await fenceRemovedLock(
    model.server.as('system:serviceaccount:mtq-system:mtq-guard'),
    TENANT,
    lockFor('old'),
  );
  expect(fences(model)).toEqual(['removed-old failed', 'removed-old failed']);
});
