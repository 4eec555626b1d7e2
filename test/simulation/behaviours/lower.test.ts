import { describe, expect, test } from '@jest/globals';
import { ANNOTATION, EVENT, KIND, SOURCE_EVENT } from '../../../functions/domain/names.ts';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { parseEventObject } from '../../../functions/eventing/event-object.ts';
import type { StepRequest } from '../../../functions/eventing/step-request.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import type { Outcome } from '../../../functions/host/step.ts';
import { lower } from '../../../functions/lower/handle.ts';
import { aLock, lockedBy } from '../../support/builders/namespace.ts';
import { annotated } from '../../support/builders/object.ts';
import { aGrant, holding } from '../../support/builders/quota.ts';
import type { Model } from '../model/model.ts';
import { LAUNCHER, launcherPod, quota, running, TENANT, tenantNamespace, vmi } from '../world/objects.ts';
import { aBlockedTenant, BLOCKED, FULL, runStep } from '../world/one-step.ts';

const RAISED = { ...FULL, 'requests.cpu': '2' };
const QUOTAS = [
  { name: 'quota', uid: 'uid-of-quota' },
  { name: 'second', uid: 'uid-of-second' },
];
const LOCK = aLock({
  migrations: [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0' }],
  quotas: QUOTAS,
  vmmrqs: ['more'],
});

/** Raised for mig0, whose pod it counts by now. */
const charged = ({ name, uid }: (typeof QUOTAS)[number]): ResourceQuota => {
  const grant = aGrant({ raised: { 'requests.cpu': '2' }, target: { 'requests.cpu': '2' }, quotas: QUOTAS });
  const raised = annotated(
    ANNOTATION.migrations,
    'uid-of-mig0/uid-of-vm0',
  )(holding(grant)(quota(name, uid, FULL)));
  return { ...raised, status: { hard: RAISED, used: RAISED } };
};

/** The namespace is locked for mig0, and its pod was the last thing that was stored. */
function aRaisedTenant(behind: number): Model {
  const model = aBlockedTenant({ behind: () => behind });
  const { store } = model;
  store.put(lockedBy(LOCK)(tenantNamespace('uid-of-tenant')));
  for (const each of QUOTAS) store.put(charged(each));
  const target = launcherPod(vmi('vm0', 'uid-of-vm0'), {
    migration: BLOCKED,
    requests: LAUNCHER,
  });
  store.put(running({ ...target, metadata: { ...target.metadata, name: 'target', uid: 'uid-of-target' } }));
  return model;
}

/** Of the quota whose `used` rises. */
function usedRose(): StepRequest {
  const [first = { name: '', uid: '' }] = QUOTAS;
  const of = { kind: KIND.quota.kind, namespace: TENANT };
  const eventObject = parseEventObject(charged(first), of);
  return { type: SOURCE_EVENT.update, id: 'event-1', ...of, ...(eventObject && { eventObject }) };
}

const fence = ({ store }: Model, name: string): string | undefined =>
  store.get<ResourceQuota>({ kind: 'ResourceQuota', namespace: TENANT, name })?.metadata.annotations?.[
    ANNOTATION.lastRelease
  ];

test.each([
  ['sees the pod', 0],
  ['lacks the pod', 1],
])('a lock whose pod is stored is no failure where the watch cache %s', async (_what, behind) => {
  const model = aRaisedTenant(behind);
  await runStep(lower, model, usedRose());
  expect(fence(model, 'quota')).toBe(`${LOCK.token} admitted`);
});

describe('two that lower at the same time', () => {
  /** The other one writes `second` just before this one does. */
  async function besideAnother(): Promise<{ readonly outcome: Outcome; readonly model: Model }> {
    const model = aRaisedTenant(0);
    const as = (user: string): Cluster => {
      const cluster = model.server.as(user);
      const replace: Cluster['replace'] = async (type, object, options) => {
        if (object.metadata.name !== 'second' || fence(model, 'second') !== undefined)
          return cluster.replace(type, object, options);
        await cluster.replace(type, object, options);
        throw new ApiError('PUT', { code: 409, reason: 'Conflict', message: 'another version' }, new Date(0));
      };
      return { ...cluster, list: cluster.list.bind(cluster), get: cluster.get.bind(cluster), replace };
    };
    const outcome = await runStep(lower, { ...model, server: { as } }, usedRose());
    return { outcome, model };
  }

  test('and each win one quota: one replies that they are lowered', async () => {
    const { outcome, model } = await besideAnother();
    expect(QUOTAS.map(({ name }) => fence(model, name))).toEqual([
      `${LOCK.token} admitted`,
      `${LOCK.token} admitted`,
    ]);
    expect(outcome.reply).toMatchObject({ type: EVENT.quotaLowered, token: LOCK.token });
  });
});
