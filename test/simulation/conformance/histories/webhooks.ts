import { ANNOTATION, KUBEVIRT, LABEL, PROOF_QUOTA } from '../../../../functions/domain/names.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../../functions/kubernetes/resources.ts';
import { aLock } from '../../../support/builders/namespace.ts';
import {
  create,
  createPod,
  createQuota,
  guardIs,
  metadata,
  patch,
  pod,
  read,
  readQuota,
  remove,
  replace,
  resize,
} from '../steps.ts';
import { histories, QUOTA } from './history.ts';

const LOCK = aLock({ expiresAt: '2126-01-01T00:00:00.000Z' });

const lock = patch(NAMESPACES, '', {
  by: 'lock',
  merge: {
    metadata: {
      labels: { [LABEL.locked]: 'true' },
      annotations: { [ANNOTATION.lock]: JSON.stringify(LOCK) },
    },
  },
});

const unlock = patch(NAMESPACES, '', {
  by: 'lock',
  merge: { metadata: { labels: { [LABEL.locked]: null }, annotations: { [ANNOTATION.lock]: null } } },
});

const raised = { metadata: { labels: { [LABEL.raised]: 'true' } } };
const [MIGRATION] = LOCK.migrations;
const labels = { [KUBEVIRT.migrationJobUID]: MIGRATION?.uid, [KUBEVIRT.createdBy]: MIGRATION?.vmi };
const ofTheLock = { metadata: { labels } };
/** The launcher of another VMI that is labelled like the target. */
const ofAnother = { metadata: { labels: { ...labels, [KUBEVIRT.createdBy]: 'another' } } };

export const webhooks = histories('webhooks', {
  'about pods the guard is asked while the namespace is locked': [
    createPod('before'),
    lock,
    createPod('during'),
    createPod('during', {}, { dryRun: true }),
    remove(PODS, 'before'),
    unlock,
    createPod('after'),
  ],
  'what it lets through is created': [
    lock,
    create(PODS, pod('target', {}, ofTheLock), { by: 'kubevirt' }),
    create(PODS, pod('forged', {}, ofTheLock)),
    create(PODS, pod('of-another', {}, ofAnother), { by: 'kubevirt' }),
    patch(PODS, 'target', { merge: { metadata: { annotations: { a: '1' } } } }),
  ],
  'it is asked before the quota: what both refuse, it refuses': [
    createQuota('quota', { pods: '0' }),
    lock,
    createPod('pod'),
    create(PODS, pod('target', {}, ofTheLock), { by: 'kubevirt' }),
  ],
  'it is asked before a name is found to be taken': [createPod('pod'), lock, createPod('pod')],
  'about quotas it is asked where one is made or our keys change, but for our own updates': [
    QUOTA,
    lock,
    createQuota('other', { pods: '1' }),
    patch(RESOURCE_QUOTAS, 'quota', { merge: { spec: { hard: { pods: '9' } } } }),
    patch(RESOURCE_QUOTAS, 'quota', { merge: raised }),
    patch(RESOURCE_QUOTAS, 'quota', { subresource: 'status', merge: raised }),
    patch(RESOURCE_QUOTAS, 'quota', { by: 'lock', merge: raised }),
    patch(RESOURCE_QUOTAS, 'quota', { merge: { metadata: { labels: { [LABEL.raised]: null } } } }),
    patch(RESOURCE_QUOTAS, 'quota', { subresource: 'status', merge: { status: { hard: { pods: '8' } } } }),
    remove(RESOURCE_QUOTAS, 'quota'),
  ],
  'our own create is refused, with the live lock: the proof': [
    lock,
    create(RESOURCE_QUOTAS, { metadata: { name: PROOF_QUOTA }, spec: {} }, { by: 'lock', dryRun: true }),
    unlock,
    create(RESOURCE_QUOTAS, { metadata: { name: PROOF_QUOTA }, spec: {} }, { by: 'lock', dryRun: true }),
  ],
  'it is not asked about a PUT that changes nothing, nor about one that lost': [
    QUOTA,
    readQuota('quota', 'read'),
    lock,
    replace(RESOURCE_QUOTAS, 'read', {}),
    replace(RESOURCE_QUOTAS, 'read', { change: metadata({ resourceVersion: '1' }) }),
  ],
  'it is asked about a pod that grows': [createPod('pod', { cpu: '1' }), lock, resize('pod', { cpu: '2' })],
  'out of reach it is a refusal, with 500, of what it would be asked, and of nothing else': [
    QUOTA,
    createPod('pod'),
    guardIs('unreachable'),
    createPod('before'),
    lock,
    createPod('during'),
    createPod('during', {}, { dryRun: true }),
    patch(RESOURCE_QUOTAS, 'quota', { merge: { spec: { hard: { pods: '9' } } } }),
    patch(RESOURCE_QUOTAS, 'quota', { by: 'lock', merge: { spec: { hard: { pods: '8' } } } }),
    create(RESOURCE_QUOTAS, { metadata: { name: PROOF_QUOTA }, spec: {} }, { by: 'lock', dryRun: true }),
    patch(NAMESPACES, '', { merge: { metadata: { labels: { [LABEL.locked]: null } } } }),
    unlock,
    createPod('after'),
  ],
  'about our keys on a namespace it is asked, by whatever way they change': [
    patch(NAMESPACES, '', { merge: { metadata: { annotations: { [ANNOTATION.lock]: '{}' } } } }),
    patch(NAMESPACES, '', { merge: { metadata: { labels: { [LABEL.locked]: 'true' } } } }),
    patch(NAMESPACES, '', {
      subresource: 'status',
      merge: { metadata: { annotations: { [ANNOTATION.lastAttempt]: '{}' } } },
    }),
    patch(NAMESPACES, '', { merge: { metadata: { annotations: { other: '{}' } } } }),
    lock,
    read(NAMESPACES, '', { keep: 'namespace' }),
    replace(NAMESPACES, 'namespace', { change: metadata({ labels: {} }) }),
    replace(NAMESPACES, 'namespace', { subresource: 'finalize', change: metadata({ annotations: {} }) }),
    replace(NAMESPACES, 'namespace', { change: metadata({ resourceVersion: '' }) }),
  ],
  'a label that the match conditions do not read causes no call': [
    patch(NAMESPACES, '', { by: 'lock', merge: { metadata: { labels: { [LABEL.locked]: 'yes' } } } }),
    createPod('pod'),
  ],
});
