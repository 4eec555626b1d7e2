import { EVENTS, PODS, RESOURCE_QUOTAS, VMMRQS } from '../../../../functions/kubernetes/resources.ts';
import {
  create,
  createPod,
  createQuota,
  hard,
  list,
  metadata,
  patch,
  pod,
  readQuota,
  remove,
  replace,
  type Step,
} from '../steps.ts';
import { histories, QUOTA, bothParts, vmmrq } from './history.ts';

const createEvent = (name: string): Step =>
  create(EVENTS, {
    metadata: { name },
    involvedObject: { kind: 'ResourceQuota', name: 'quota', namespace: '(namespace)' },
    reason: 'Tested',
    message: 'once',
    type: 'Normal',
  });

export const writes = histories('writes', {
  'a PUT of the newest version is stored under a new one': [
    QUOTA,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', { change: hard({ pods: '6' }) }),
  ],
  'a PUT of an older version is a Conflict and changes nothing': [
    QUOTA,
    replace(RESOURCE_QUOTAS, 'quota', { change: hard({ pods: '6' }) }),
  ],
  'a PUT that changes nothing keeps the version, for every user': [
    QUOTA,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', {}),
    replace(RESOURCE_QUOTAS, 'read', { by: 'lock' }),
    replace(RESOURCE_QUOTAS, 'read', { change: metadata({ labels: {}, annotations: {} }) }),
    readQuota('quota'),
  ],
  'a PUT of a quota that is gone is NotFound': [
    QUOTA,
    remove(RESOURCE_QUOTAS, 'quota'),
    replace(RESOURCE_QUOTAS, 'quota', { change: hard({ pods: '6' }) }),
  ],
  'a PUT of a quota that was created again is a Conflict, by its uid': [
    QUOTA,
    remove(RESOURCE_QUOTAS, 'quota'),
    createQuota('quota', { pods: '7' }),
    replace(RESOURCE_QUOTAS, 'quota', { change: metadata({ resourceVersion: '' }) }),
  ],
  'a PUT without a version: a quota is replaced, a custom resource is Invalid': [
    QUOTA,
    replace(RESOURCE_QUOTAS, 'quota', {
      change: (object) => hard({ pods: '8' })(metadata({ resourceVersion: '' })(object)),
    }),
    create(VMMRQS, vmmrq('more', '1'), { keep: 'vmmrq' }),
    replace(VMMRQS, 'vmmrq', { change: metadata({ resourceVersion: '' }) }),
  ],
  'what the server sets cannot be set: uid, generation, times': [
    create(RESOURCE_QUOTAS, {
      metadata: {
        name: 'quota',
        uid: '11111111-2222-4333-8444-555555555555',
        generation: 7,
        creationTimestamp: '2001-01-01T00:00:00Z',
        deletionTimestamp: '2001-01-01T00:00:00Z',
      },
      spec: { hard: { pods: '1' } },
      status: { hard: { pods: '9' }, used: { pods: '9' } },
    }),
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', { change: metadata({ creationTimestamp: '2001-01-01T00:00:00Z' }) }),
  ],
  'a name that is taken is AlreadyExists': [QUOTA, createQuota('quota', { pods: '9' })],
  'a name can be generated': [
    create(PODS, pod('', {}, { metadata: { name: undefined, generateName: 'generated-' } })),
  ],
  'amounts come back in their canonical form': [
    createQuota('quota', { 'requests.cpu': '1000m', 'requests.memory': '2048Mi', pods: '2000' }),
    createQuota('other', { 'requests.cpu': '0.5', 'requests.memory': '2041974464', 'limits.cpu': '1405m' }),
    createQuota('third', { 'requests.memory': '1500Mi', 'limits.memory': '1.5Gi', 'limits.cpu': '0' }),
  ],
  'a merge patch adds, changes and takes off, and never conflicts': [
    QUOTA,
    patch(RESOURCE_QUOTAS, 'quota', { merge: { metadata: { annotations: { a: '1', b: '2' } } } }),
    patch(RESOURCE_QUOTAS, 'quota', {
      merge: { metadata: { annotations: { a: null, b: '3' } }, spec: { hard: { services: '4' } } },
    }),
    patch(RESOURCE_QUOTAS, 'quota', { merge: { metadata: { annotations: { a: null, b: '3' } } } }),
    patch(RESOURCE_QUOTAS, 'gone', { merge: { metadata: { annotations: { a: '1' } } } }),
  ],
  'a merge patch with an older version is a Conflict': [
    QUOTA,
    patch(RESOURCE_QUOTAS, 'quota', {
      merge: { metadata: { resourceVersion: '1', annotations: { a: '1' } } },
    }),
  ],
  'a dry run of a PUT answers what would be, and changes nothing': [
    QUOTA,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', { change: hard({ pods: '6' }), dryRun: true }),
    replace(RESOURCE_QUOTAS, 'read', { change: bothParts, dryRun: true, subresource: 'status' }),
    replace(RESOURCE_QUOTAS, 'quota', { change: hard({ pods: '6' }), dryRun: true }),
    readQuota('quota'),
  ],
  'an Event is written once by its name': [createEvent('first'), createEvent('first'), createEvent('second')],
  'a list is in the order of names, by labels': [
    createPod('c', {}, {}),
    create(PODS, pod('a', {}, { metadata: { labels: { app: 'x' } } })),
    create(PODS, pod('b', {}, { metadata: { labels: { app: 'y', tier: '1' } } })),
    list(PODS, {}),
    list(PODS, { labelSelector: 'app=x' }),
    list(PODS, { labelSelector: 'app in (x,y),tier' }),
    list(PODS, { labelSelector: 'app!=x' }),
    list(PODS, { labelSelector: '!app' }),
    list(PODS, { labelSelector: 'app notin (y)' }),
    list(PODS, { fieldSelector: 'metadata.name=b' }),
    list(PODS, { fieldSelector: 'status.phase=Pending' }),
  ],
});
