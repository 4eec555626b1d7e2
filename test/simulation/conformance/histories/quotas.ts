import { PODS, RESOURCE_QUOTAS } from '../../../../functions/kubernetes/resources.ts';
import {
  create,
  createPod,
  createQuota,
  hard,
  patch,
  pauseController,
  pod,
  readQuota,
  remove,
  replace,
  resize,
  resumeController,
  type Step,
} from '../steps.ts';
import { histories, status } from './history.ts';

const raise = (pods: string): Step[] => [
  readQuota('quota', 'read'),
  replace(RESOURCE_QUOTAS, 'read', { change: hard({ pods }) }),
];

export const quotas = histories('quota', {
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
    // Not resumed: its next count depends on which of its informers is first (quota-controller.test.ts).
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
  'a status that a user wrote stays: the controller reacts only to the spec and to pods': [
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
  'a limit may go below the usage, and then no new pod is admitted': [
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
  'a quota without status.used refuses': [
    createQuota('quota', { pods: '5', 'requests.cpu': '5' }),
    pauseController,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', {
      subresource: 'status',
      change: status({ hard: { pods: '5', 'requests.cpu': '5' } }),
    }),
    createPod('pod', { cpu: '1' }),
  ],
  'a quota without a status refuses no pod': [
    pauseController,
    createQuota('quota', { pods: '1' }),
    createPod('one'),
    createPod('two'),
  ],
  'a taken name is detected last: the quota stays charged until the next count': [
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
  'a deleted quota refuses no pod': [
    createQuota('quota', { pods: '0' }),
    createPod('one'),
    remove(RESOURCE_QUOTAS, 'quota'),
    createPod('one'),
  ],
});
