import { expect, test } from '@jest/globals';
import {
  aContainer,
  aLauncher,
  anInit,
  podPhase,
  podSpec,
  withContainer,
} from '../../../test/support/builders/kubevirt.ts';
import { aQuota, hard, scoped, used } from '../../../test/support/builders/quota.ts';
import type { ContainerStatus, Pod, ResourceList, ResourceQuota } from '../objects.ts';
import { formatQuantity } from '../quantity.ts';
import { unchargedIn } from './uncharged.ts';

const counting = (list: ResourceList): ResourceQuota => aQuota(hard(list), used(list));
const TWO = [aLauncher('vm0'), aLauncher('vm1')];

/** vm0's launcher, whose CPU is resized to this; the kubelet still runs what the status says. */
const resized = (cpu: string, status: Omit<ContainerStatus, 'name' | 'ready'>): Pod =>
  aLauncher(
    'vm0',
    podSpec({ containers: [aContainer({ cpu })] }),
    withContainer('compute', { ready: true, ...status }),
  );
const running = (cpu: string): Omit<ContainerStatus, 'name' | 'ready'> => ({
  resources: { requests: { cpu }, limits: { cpu } },
});
/** The same of a sidecar. */
const resizedSidecar = (cpu: string, status: Omit<ContainerStatus, 'name' | 'ready'>): Pod =>
  aLauncher('vm0', podSpec({ containers: [], initContainers: [anInit({ cpu }, 'Always')] }), (pod) => ({
    ...pod,
    status: { ...pod.status, initContainerStatuses: [{ name: 'init', ready: true, ...status }] },
  }));

test.each<[string, ResourceQuota, readonly Pod[], Record<string, string>]>([
  ['one pod more', counting({ 'requests.cpu': '3015m' }), TWO, { 'requests.cpu': '3015m of 2010m' }],
  [
    'by the other name',
    counting({ cpu: '3015m', pods: '3' }),
    TWO,
    { cpu: '3015m of 2010m', pods: '3 of 2' },
  ],
  ['no more than the pods', counting({ 'requests.cpu': '2010m', pods: '2' }), TWO, {}],
  ['less than the pods: one was created a moment ago', counting({ 'requests.cpu': '1005m' }), TWO, {}],
  [
    'a pod that has ended, only as an object',
    counting({ 'count/pods': '3', pods: '3', 'requests.cpu': '2010m' }),
    [...TWO, aLauncher('vm2', podPhase('Succeeded'))],
    { pods: '3 of 2' },
  ],
  [
    'one object more than its pods, of which one has ended',
    counting({ 'count/pods': '4' }),
    [...TWO, aLauncher('vm2', podPhase('Failed'))],
    { 'count/pods': '4 of 3' },
  ],
  [
    'devices',
    counting({ 'requests.nvidia.com/gpu': '3', 'requests.deviceclass.resource.kubernetes.io/gpu': '1' }),
    [
      aLauncher('vm0', podSpec({ containers: [aContainer({ 'nvidia.com/gpu': '1' })] })),
      aLauncher('vm1', podSpec({ containers: [aContainer({ 'nvidia.com/gpu': '1' })] })),
    ],
    { 'requests.nvidia.com/gpu': '3 of 2', 'requests.deviceclass.resource.kubernetes.io/gpu': '1 of 0' },
  ],
  ['what is no pod', counting({ 'requests.storage': '10Mi', services: '3', 'count/services': '3' }), TWO, {}],
  [
    'pods that it covers, of which there are none',
    scoped({ scopes: ['Terminating'] })(counting({ pods: '1' })),
    TWO,
    { pods: '1 of 0' },
  ],
  [
    'pods of other owners as well',
    counting({ 'requests.cpu': '3015m' }),
    [...TWO, aLauncher('web', podSpec({ containers: [aContainer({ cpu: '1005m' })] }))],
    {},
  ],
  ['what the kubelet still runs', counting({ 'requests.cpu': '4' }), [resized('1', running('4'))], {}],
  [
    'what the node still reserves',
    counting({ 'requests.cpu': '4' }),
    [resized('1', { resources: {}, allocatedResources: { cpu: '4' } })],
    {},
  ],
  ['a limit that it still runs', counting({ 'limits.cpu': '4' }), [resized('1', running('4'))], {}],
  ['what a sidecar still runs', counting({ 'requests.cpu': '4' }), [resizedSidecar('1', running('4'))], {}],
  ['what a pod is resized to', counting({ 'requests.cpu': '4' }), [resized('4', running('1'))], {}],
  [
    'more than a pod that is being resized',
    counting({ 'requests.cpu': '5' }),
    [resized('1', running('4'))],
    { 'requests.cpu': '5 of 4' },
  ],
])('a quota that counts %s', (_, quota, living, want) => {
  const found = unchargedIn([quota], living).get(quota.metadata.uid) ?? [];
  const words = [...found].map(([key, { used: counted, charged }]) => [
    key,
    `${formatQuantity(counted)} of ${formatQuantity(charged)}`,
  ]);
  expect(Object.fromEntries(words)).toEqual(want);
});
