import { ANNOTATION, LABEL, PROOF_QUOTA } from '../../../functions/domain/names.ts';
import {
  EVENTS,
  MIGRATIONS,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { aLock } from '../../builders/namespace.ts';
import {
  create,
  createPod,
  createQuota,
  guardIs,
  hard,
  list,
  metadata,
  patch,
  pauseController,
  pod,
  read,
  readQuota,
  remove,
  replace,
  resize,
  resumeController,
  watched,
  type Body,
  type Step,
} from './steps.ts';

/** A small history, named by the fact that it shows. */
export interface History {
  readonly about: string;
  readonly fact: string;
  readonly steps: readonly Step[];
}

const histories = (about: string, table: Readonly<Record<string, readonly Step[]>>): History[] =>
  Object.entries(table).map(([fact, steps]) => ({ about, fact, steps }));

const QUOTA = createQuota('quota', { pods: '5' }, { keep: 'quota' });

const status =
  (different: object) =>
  (object: Body): Body => ({ ...object, status: different });

const bothParts = (object: Body): Body =>
  hard({ pods: '9' })(
    status({ hard: { pods: '7' }, used: { pods: '3' } })(metadata({ labels: { by: 'status' } })(object)),
  );

const createEvent = (name: string): Step =>
  create(EVENTS, {
    metadata: { name },
    involvedObject: { kind: 'ResourceQuota', name: 'quota', namespace: '(namespace)' },
    reason: 'Tested',
    message: 'once',
    type: 'Normal',
  });

const writes = histories('writes', {
  'a PUT of the newest version is stored under a new one': [
    QUOTA,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', { change: hard({ pods: '6' }) }),
  ],
  'a PUT of an older version is a Conflict and changes nothing': [
    QUOTA,
    replace(RESOURCE_QUOTAS, 'quota', { change: hard({ pods: '6' }) }),
  ],
  'a PUT that changes nothing keeps the version, whoever sends it': [
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
  'a PUT of a quota that was made anew is a Conflict, by its uid': [
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

function vmmrq(name: string, cpu: string, more: Body = {}): Body {
  return {
    ...more,
    metadata: { name, ...more.metadata },
    spec: { additionalMigrationResources: { 'requests.cpu': cpu } },
  };
}

const amount =
  (cpu: string) =>
  (object: Body): Body => ({ ...object, spec: { additionalMigrationResources: { 'requests.cpu': cpu } } });

const statuses = histories('status', {
  'a PUT of a quota does not write its status': [
    QUOTA,
    pauseController,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', { change: bothParts }),
  ],
  'a PUT of a quota’s status does not write its spec, but its metadata': [
    QUOTA,
    pauseController,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', { subresource: 'status', change: bothParts }),
  ],
  'a PUT of a status of an older version is a Conflict': [
    QUOTA,
    replace(RESOURCE_QUOTAS, 'quota', { subresource: 'status', change: bothParts }),
  ],
  'a PUT of a status that changes nothing keeps the version': [
    QUOTA,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', { subresource: 'status' }),
  ],
  'a VMMRQ’s status is written by its subresource alone, which writes nothing else': [
    create(VMMRQS, vmmrq('more', '1', { status: { creationTime: null } }), { keep: 'vmmrq' }),
    replace(VMMRQS, 'vmmrq', {
      change: (object) => status({ originalBlockingResourceQuotas: [] })(amount('2')(object)),
      keep: 'changed',
    }),
    replace(VMMRQS, 'changed', {
      subresource: 'status',
      change: (object) =>
        status({ originalBlockingResourceQuotas: [] })(amount('3')(metadata({ labels: { a: 'b' } })(object))),
      keep: 'reported',
    }),
    replace(VMMRQS, 'reported', { change: metadata({ labels: { a: 'b' } }) }),
    replace(VMMRQS, 'reported', { subresource: 'status', change: status({}) }),
  ],
  'a custom resource counts generations of its spec, and of its deletion': [
    create(MIGRATIONS, migration('mig0'), { keep: 'migration' }),
    patch(MIGRATIONS, 'mig0', { merge: { metadata: { annotations: { a: '1' } } } }),
    patch(MIGRATIONS, 'mig0', { subresource: 'status', merge: { status: { phase: 'Pending' } } }),
    patch(MIGRATIONS, 'mig0', { merge: { spec: { priority: 'high' } } }),
    remove(MIGRATIONS, 'mig0'),
    read(MIGRATIONS, 'mig0'),
  ],
  'a namespace keeps its name as a label, its finalizers and its phase': [
    read(NAMESPACES, '', { keep: 'namespace' }),
    replace(NAMESPACES, 'namespace', {
      change: (object) => ({
        ...metadata({ labels: { own: 'x' } })(object),
        spec: {},
        status: { phase: 'Terminating' },
      }),
      keep: 'labelled',
    }),
    replace(NAMESPACES, 'labelled', { subresource: 'status', change: metadata({ annotations: { a: '1' } }) }),
  ],
});

function migration(name: string): Body {
  return {
    metadata: { name, finalizers: ['kubevirt.io/migrationJobFinalize'] },
    spec: { vmiName: 'vm0' },
    status: { phase: 'Running' },
  };
}

const deletions = histories('deletion', {
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

const raise = (pods: string): Step[] => [
  readQuota('quota', 'read'),
  replace(RESOURCE_QUOTAS, 'read', { change: hard({ pods }) }),
];

const quotas = histories('quota', {
  'a pod is charged, and refused when it is one too many': [
    createQuota('quota', { pods: '1', 'requests.cpu': '1' }),
    createPod('one', { cpu: '500m' }),
    createPod('two', { cpu: '600m' }),
    readQuota('quota'),
  ],
  'status.hard counts, not spec.hard: a raise is nothing before the controller has seen it': [
    createQuota('quota', { pods: '1' }),
    createPod('one'),
    pauseController,
    ...raise('2'),
    createPod('two'),
    resumeController,
    createPod('two'),
  ],
  'status.hard counts, not spec.hard: what is lowered is still given before the controller has seen it': [
    createQuota('quota', { pods: '2' }),
    createPod('one'),
    pauseController,
    ...raise('1'),
    createPod('two'),
    // Not resumed: what it counts then depends on which of its informers is first (quota-controller.test.ts).
    createPod('three'),
  ],
  'status.hard may be written by hand, and counts at once': [
    createQuota('quota', { pods: '2' }),
    pauseController,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', {
      subresource: 'status',
      change: status({ hard: { pods: '0' }, used: { pods: '0' } }),
    }),
    createPod('one'),
  ],
  'a status that somebody wrote stays: the controller looks at the spec and at pods': [
    createQuota('quota', { pods: '2' }),
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', {
      subresource: 'status',
      change: status({ hard: { pods: '7' }, used: { pods: '6' } }),
    }),
    createPod('one'),
    createPod('two'),
    remove(PODS, 'one'),
  ],
  'below what is used it may go; nobody new comes in': [
    createQuota('quota', { pods: '3' }),
    createPod('one'),
    createPod('two'),
    ...raise('1'),
    createPod('three'),
    remove(PODS, 'one'),
    createPod('three'),
    remove(PODS, 'two'),
    createPod('three'),
  ],
  'a key that a pod does not ask for may be over its limit': [
    createQuota('quota', { pods: '5', 'requests.nvidia.com/gpu': '1' }),
    createPod('one', { cpu: '1' }),
    pauseController,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', {
      subresource: 'status',
      change: status({
        hard: { pods: '5', 'requests.nvidia.com/gpu': '0' },
        used: { pods: '1', 'requests.nvidia.com/gpu': '1' },
      }),
    }),
    createPod('two', { cpu: '1' }),
  ],
  'of several quotas each is charged': [
    createQuota('one', { pods: '5' }),
    createQuota('two', { 'requests.memory': '1Gi', pods: '3' }),
    createQuota('three', { services: '3' }),
    createPod('pod', { memory: '100Mi' }),
  ],
  'when one of several quotas refuses, none is charged': [
    createQuota('one', { pods: '5' }),
    createQuota('two', { 'requests.memory': '50Mi' }),
    createPod('pod', { memory: '100Mi' }),
    createPod('other', { memory: '10Mi' }),
  ],
  'a dry run is checked and not charged': [
    createQuota('quota', { pods: '1' }),
    createPod('one', {}, { dryRun: true }),
    createPod('one'),
    createPod('two', {}, { dryRun: true }),
  ],
  'what a deletion gives back is counted by the controller alone': [
    createQuota('quota', { pods: '1' }),
    createPod('one'),
    pauseController,
    remove(PODS, 'one'),
    createPod('two'),
    resumeController,
    createPod('two'),
  ],
  'a pod that ends gives back what it used, but for count/pods': [
    createQuota('quota', { pods: '5', 'count/pods': '5', 'requests.cpu': '1' }),
    createPod('one', { cpu: '1' }),
    patch(PODS, 'one', { subresource: 'status', merge: { status: { phase: 'Succeeded' } } }),
    createPod('two', { cpu: '1' }),
  ],
  'a pod must say what its quota counts': [
    createQuota('quota', { 'requests.cpu': '1', 'limits.memory': '1Gi' }),
    createPod('pod', { cpu: '100m' }),
    createPod('other'),
  ],
  'a quota whose use nobody knows refuses': [
    createQuota('quota', { pods: '5', 'requests.cpu': '5' }),
    pauseController,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', {
      subresource: 'status',
      change: status({ hard: { pods: '5', 'requests.cpu': '5' } }),
    }),
    createPod('pod', { cpu: '1' }),
  ],
  'a quota that nobody has looked at yet refuses nobody': [
    pauseController,
    createQuota('quota', { pods: '1' }),
    createPod('one'),
    createPod('two'),
  ],
  'a name that is taken is found out last: the quota is charged, until somebody counts again': [
    createQuota('quota', { pods: '5' }),
    createPod('one'),
    createPod('one'),
    readQuota('quota'),
    createPod('two'),
    remove(PODS, 'two'),
  ],
  'a dry run of a taken name is AlreadyExists too': [
    createQuota('quota', { pods: '5' }),
    createPod('one'),
    createPod('one', {}, { dryRun: true }),
  ],
  'two names of one resource are charged both': [
    createQuota('quota', {
      cpu: '2',
      'requests.cpu': '3',
      memory: '1Gi',
      'count/pods': '3',
      'hugepages-2Mi': '4Mi',
    }),
    createPod('one', { cpu: '1500m', memory: '1Mi' }),
    createPod('two', { cpu: '1', memory: '1Mi' }),
  ],
  'a quota for pods that ask for nothing counts only those': [
    create(RESOURCE_QUOTAS, {
      metadata: { name: 'quota' },
      spec: { hard: { pods: '1' }, scopes: ['BestEffort'] },
    }),
    createPod('one', { cpu: '1' }),
    createPod('two'),
    createPod('three'),
    createPod('four', { cpu: '1' }),
  ],
  'a quota for pods with a deadline counts only those': [
    create(RESOURCE_QUOTAS, {
      metadata: { name: 'quota' },
      spec: { hard: { pods: '1' }, scopes: ['Terminating'] },
    }),
    createPod('one'),
    create(PODS, pod('two', {}, { spec: { activeDeadlineSeconds: 60 } })),
    create(PODS, pod('three', {}, { spec: { activeDeadlineSeconds: 60 } })),
  ],
  'a pod that grows in place is charged by as much, and refused when it is too much': [
    createQuota('quota', { 'requests.cpu': '1' }),
    createPod('pod', { cpu: '500m' }),
    resize('pod', { cpu: '800m' }),
    resize('pod', { cpu: '1100m' }),
    resize('pod', { cpu: '100m' }),
    readQuota('quota'),
  ],
  'a quota that is gone refuses nobody': [
    createQuota('quota', { pods: '0' }),
    createPod('one'),
    remove(RESOURCE_QUOTAS, 'quota'),
    createPod('one'),
  ],
});

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
const ofTheLock = { metadata: { labels: { 'kubevirt.io/migrationJobUID': LOCK.migrations[0]?.uid } } };

const webhooks = histories('webhooks', {
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
    patch(PODS, 'target', { merge: { metadata: { annotations: { a: '1' } } } }),
  ],
  'it is asked before the quota: what both refuse, it refuses': [
    createQuota('quota', { pods: '0' }),
    lock,
    createPod('pod'),
    create(PODS, pod('target', {}, ofTheLock), { by: 'kubevirt' }),
  ],
  'it is asked before a name is found to be taken': [createPod('pod'), lock, createPod('pod')],
  'about quotas it is asked, but for our own updates and every status': [
    QUOTA,
    lock,
    createQuota('other', { pods: '1' }),
    patch(RESOURCE_QUOTAS, 'quota', { merge: { spec: { hard: { pods: '9' } } } }),
    patch(RESOURCE_QUOTAS, 'quota', { by: 'lock', merge: { spec: { hard: { pods: '8' } } } }),
    patch(RESOURCE_QUOTAS, 'quota', { subresource: 'status', merge: { status: { hard: { pods: '8' } } } }),
    remove(RESOURCE_QUOTAS, 'quota'),
  ],
  'our own create is refused, with the token: the proof': [
    lock,
    create(RESOURCE_QUOTAS, { metadata: { name: PROOF_QUOTA }, spec: {} }, { by: 'lock', dryRun: true }),
    unlock,
    create(RESOURCE_QUOTAS, { metadata: { name: PROOF_QUOTA }, spec: {} }, { by: 'lock', dryRun: true }),
  ],
  'it is asked about a PUT that changes nothing, and not about one that lost': [
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
  'a label that is not ours to read makes nobody ask': [
    patch(NAMESPACES, '', { by: 'lock', merge: { metadata: { labels: { [LABEL.locked]: 'yes' } } } }),
    createPod('pod'),
  ],
  'what is deleted while its finalizer holds it is asked about each time': [
    create(RESOURCE_QUOTAS, {
      metadata: { name: 'quota', finalizers: ['example.com/keep'] },
      spec: { hard: { pods: '1' } },
    }),
    lock,
    remove(RESOURCE_QUOTAS, 'quota'),
    unlock,
    remove(RESOURCE_QUOTAS, 'quota'),
    lock,
    remove(RESOURCE_QUOTAS, 'quota'),
  ],
});

const labelled = (value: string | null): Step =>
  patch(RESOURCE_QUOTAS, 'quota', { merge: { metadata: { labels: { [LABEL.raised]: value } } } });

const watches = histories('watches', {
  'by a label: what begins to match is ADDED, what does not match any more is DELETED, as it was': [
    QUOTA,
    labelled('true'),
    patch(RESOURCE_QUOTAS, 'quota', { merge: { metadata: { annotations: { a: '1' } } } }),
    labelled(null),
    patch(RESOURCE_QUOTAS, 'quota', { merge: { metadata: { annotations: { a: '2' } } } }),
    labelled('true'),
    remove(RESOURCE_QUOTAS, 'quota'),
    watched(RESOURCE_QUOTAS, 'quota', { labelSelector: `${LABEL.raised}=true`, count: 5 }),
  ],
  'by a name: only that one, from the version that was asked for': [
    create(VMMRQS, vmmrq('one', '1'), { keep: 'one' }),
    create(VMMRQS, vmmrq('two', '1')),
    patch(VMMRQS, 'two', { merge: { spec: { additionalMigrationResources: { pods: '2' } } } }),
    patch(VMMRQS, 'one', { merge: { spec: { additionalMigrationResources: { pods: '2' } } } }),
    remove(VMMRQS, 'one'),
    watched(VMMRQS, 'one', { fieldSelector: 'metadata.name=one', count: 2 }),
  ],
  'a quota is seen to be counted, charged and counted again': [
    QUOTA,
    createPod('pod'),
    remove(PODS, 'pod'),
    watched(RESOURCE_QUOTAS, 'quota', { fieldSelector: 'metadata.name=quota', count: 3 }),
  ],
  'of all: each change in its order': [
    create(VMMRQS, vmmrq('one', '1'), { keep: 'one' }),
    create(VMMRQS, vmmrq('two', '1')),
    remove(VMMRQS, 'one'),
    create(VMMRQS, vmmrq('one', '2')),
    watched(VMMRQS, 'one', { count: 3 }),
  ],
});

export const HISTORIES: readonly History[] = [
  ...writes,
  ...statuses,
  ...deletions,
  ...quotas,
  ...webhooks,
  ...watches,
];
