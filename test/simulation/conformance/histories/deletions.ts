import {
  MIGRATIONS,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../../functions/kubernetes/resources.ts';
import {
  create,
  createPod,
  createQuota,
  metadata,
  patch,
  pauseController,
  pod,
  read,
  readQuota,
  remove,
  replace,
  watched,
} from '../steps.ts';
import { histories, QUOTA, vmmrq, migration } from './history.ts';

export const deletions = histories('deletion', {
  'its preconditions are the uid and the version': [
    QUOTA,
    createQuota('other', { pods: '5' }, { keep: 'other' }),
    readQuota('quota', 'read'),
    remove(RESOURCE_QUOTAS, 'quota', { uidOf: 'other' }),
    remove(RESOURCE_QUOTAS, 'quota', { versionOf: 'quota' }),
    remove(RESOURCE_QUOTAS, 'quota', { uidOf: 'read', versionOf: 'read' }),
    remove(RESOURCE_QUOTAS, 'quota'),
  ],
  'a finalizer holds it back, and cannot take the deletion back': [
    create(MIGRATIONS, migration('mig0')),
    remove(MIGRATIONS, 'mig0'),
    remove(MIGRATIONS, 'mig0'),
    read(MIGRATIONS, 'mig0', { keep: 'deleted' }),
    replace(MIGRATIONS, 'deleted', {
      change: metadata({ deletionTimestamp: undefined, labels: { a: 'b' } }),
    }),
    patch(MIGRATIONS, 'mig0', { merge: { metadata: { finalizers: null } } }),
    read(MIGRATIONS, 'mig0'),
  ],
  'a finalizer on a quota holds it back, and it goes on counting': [
    create(RESOURCE_QUOTAS, {
      metadata: { name: 'quota', finalizers: ['example.com/keep'] },
      spec: { hard: { pods: '1' } },
    }),
    remove(RESOURCE_QUOTAS, 'quota'),
    createPod('one'),
    createPod('two'),
    patch(RESOURCE_QUOTAS, 'quota', { merge: { metadata: { finalizers: null } } }),
    createPod('two'),
  ],
  'a pod that was never placed goes at once': [createPod('pod'), remove(PODS, 'pod'), read(PODS, 'pod')],
  'a pod that was never placed goes at once, after it said so': [
    create(PODS, pod('pod'), { keep: 'pod' }),
    remove(PODS, 'pod'),
    watched(PODS, 'pod', { count: 2 }),
  ],
  'a pod with a finalizer waits for it': [
    create(PODS, pod('pod', {}, { metadata: { finalizers: ['example.com/keep'] } })),
    remove(PODS, 'pod'),
    read(PODS, 'pod'),
    remove(PODS, 'pod', { grace: 0 }),
    patch(PODS, 'pod', { merge: { metadata: { finalizers: null } } }),
    read(PODS, 'pod'),
  ],
  'nothing is made in a namespace that is being deleted, but what is there can be changed': [
    QUOTA,
    create(MIGRATIONS, migration('mig0')),
    pauseController,
    remove(NAMESPACES, ''),
    remove(NAMESPACES, ''),
    createPod('pod'),
    createPod('pod', {}, { dryRun: true }),
    createQuota('other', { pods: '1' }),
    create(VMMRQS, vmmrq('more', '1')),
    patch(RESOURCE_QUOTAS, 'quota', { merge: { metadata: { labels: { a: 'b' } } } }),
    patch(NAMESPACES, '', { merge: { metadata: { labels: { a: 'b' } } } }),
    read(NAMESPACES, ''),
  ],
  'nothing is made in a namespace that is not there': [
    create(PODS, pod('pod', {}, { metadata: { namespace: 'nowhere' } })),
    create(VMMRQS, vmmrq('more', '1', { metadata: { namespace: 'nowhere' } })),
  ],
});
