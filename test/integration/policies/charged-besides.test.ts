import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import type { New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { isRejected } from '../../../functions/kubernetes/errors.ts';
import { PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import {
  changeClaim,
  CLAIM,
  createClaim,
  createPod,
  giveDeadline,
  POD_SPEC,
} from '../../support/policies/admission-requests.ts';
import { askUntil } from '../../support/eventually.ts';
import { CLAIMS, startPolicyWorld, type PolicyWorld } from '../../support/policies/policy-world.ts';
import { createOrRefusal, isRefusal } from '../../support/preflight/refusal.ts';

/**
 * A quota is charged for more than new pods and resizes, so policies and webhooks must match these requests too. Tested on the
 * real API server without them. If this fails in a new Kubernetes version, review what they match.
 */

const TENANT = 'tenant';
const DEVICE = 'example.com/gpu';
const DEVICE_CLASSES: ResourceType = {
  apiVersion: 'resource.k8s.io/v1',
  kind: 'DeviceClass',
  plural: 'deviceclasses',
  namespaced: false,
};
const MARKED = { 'resource.kubernetes.io/extended-resource-claim': 'true' };

let world: PolicyWorld;

beforeAll(async () => {
  world = await startPolicyWorld();
  const deviceClass = { metadata: { name: 'example.com' }, spec: { extendedResourceName: DEVICE } };
  await world.admin.create(DEVICE_CLASSES, deviceClass);
  await world.tenant(TENANT, {}, [
    quota('terminating', { pods: '0' }, ['Terminating']),
    quota('devices', { [`requests.${DEVICE}`]: '1' }),
  ]);
  await askUntil(
    'the quotas are counted',
    () => world.admin.list(RESOURCE_QUOTAS, { namespace: TENANT }),
    ({ items }) => items.every(({ status }) => status?.used !== undefined),
  );
  const namespace = TENANT;
  const pod = await createOrRefusal(world.admin, namespace, () =>
    world.admin.create(PODS, { metadata: { name: 'pod', namespace }, spec: WITH_DEVICE }),
  );
  if (isRefusal(pod)) throw new Error(pod.text);
  const { name, uid } = pod.object.metadata;
  const claim = {
    ...CLAIM,
    metadata: {
      ...{ name: 'claim', namespace, annotations: MARKED },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }],
    },
  };
  await askUntil(
    'quota admission has heard of the pod, whose the claim is',
    () => world.admin.create(CLAIMS, claim).catch(whenRefused),
    (made) => made !== undefined,
  );
});

afterAll(async () => {
  await world.stop();
});

const whenRefused = (error: unknown): undefined => {
  if (!isRejected(error)) throw error;
};

const [container] = POD_SPEC.containers;
const one = { [DEVICE]: '1' };
const WITH_DEVICE = {
  containers: [{ ...container, name: 'main', resources: { requests: one, limits: one } }],
};

const quota = (name: string, hard: ResourceList, scopes?: string[]): New<ResourceQuota> => ({
  metadata: { name },
  spec: { hard, ...(scopes === undefined ? {} : { scopes }) },
});

const exceeded = (name: string): object => ({
  by: 'other',
  code: 403,
  text: expect.stringContaining(`exceeded quota: ${name}, requested: `),
});

test('a pod that gets a deadline is charged to a quota of scope Terminating', async () => {
  expect(await world.ask('editor', createPod(TENANT))).toEqual({ by: 'none' });
  expect(await world.ask('editor', giveDeadline(TENANT))).toMatchObject(exceeded('terminating'));
});

test('a ResourceClaim is charged to a quota for the devices of its class', async () => {
  expect(await world.ask('editor', createClaim(TENANT))).toMatchObject(exceeded('devices'));
});

test.each([
  ['loses its owner', { ownerReferences: null }],
  ['loses its annotation', { annotations: { 'resource.kubernetes.io/extended-resource-claim': null } }],
])('a ResourceClaim of a charged pod that %s is charged too', async (_what, metadata) => {
  expect(await world.ask('editor', changeClaim(TENANT, { labels: { changed: 'true' } }))).toEqual({
    by: 'none',
  });
  expect(await world.ask('editor', changeClaim(TENANT, metadata))).toMatchObject(exceeded('devices'));
});
