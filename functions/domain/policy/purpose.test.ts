import { expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  aTarget,
  aVmi,
  onNode,
  podPhase,
  withPriority,
} from '../../../test/support/builders/kubevirt.ts';
import { annotated, labelled, metadata, named, NOW, seconds } from '../../../test/support/builders/object.ts';
import { KUBEVIRT, type Purpose } from '../names.ts';
import type { Condition, Node, VirtualMachineInstance } from '../objects.ts';
import { drainingSince, isDraining, purposeOf, type PurposeInput } from './purpose.ts';

const evacuation = aMigration(annotated(KUBEVIRT.evacuation, 'node1'));
const update = aMigration(annotated(KUBEVIRT.workloadUpdate, ''));
const outdated = labelled(KUBEVIRT.outdatedLauncher, '')(aVmi());
const changing = (type: string, status: Condition['status'] = 'True'): VirtualMachineInstance => ({
  ...outdated,
  status: { ...outdated.status, conditions: [{ type, status }] },
});

/** vm0 runs on node1, which is drained. */
const CASES: Record<string, readonly [Partial<PurposeInput>, Purpose]> = {
  'an evacuation from a drained node': [{ migration: evacuation }, 'Evacuation'],
  'an evacuation of critical priority': [
    { migration: withPriority('system-critical')(evacuation) },
    'Evacuation',
  ],
  'an evacuation that also applies a change of the VM': [
    { migration: evacuation, vmi: changing('HotMemoryChange') },
    'Evacuation',
  ],
  'an evacuation from a node that is not drained: the launcher was evicted': [
    { migration: evacuation, nodes: new Map([['node2', 'draining']]) },
    'UserRequested',
  ],
  'an evacuation without any launcher': [{ migration: evacuation, pods: [] }, 'UserRequested'],
  'a former launcher on another node does not count': [
    {
      migration: evacuation,
      pods: [aLauncher(), aLauncher('vm0', named('old'), onNode('node3'), podPhase('Succeeded'))],
    },
    'Evacuation',
  ],
  'a pod that looks like a launcher, on a drained node, does not help': [
    {
      migration: evacuation,
      pods: [aLauncher('vm0', onNode('node3')), aLauncher('vm0', named('forged'))],
    },
    'UserRequested',
  ],
  'its own target is not where it comes from': [
    { migration: evacuation, pods: [aLauncher(), aTarget(evacuation)] },
    'Evacuation',
  ],
  'an evacuation by the descheduler': [
    { migration: withPriority('system-maintenance')(evacuation) },
    'Rebalance',
  ],
  'an update of an outdated VMI': [{ migration: update, vmi: outdated }, 'WorkloadUpdate'],
  'an update of a VMI that is not outdated': [{ migration: update }, 'LiveUpdate'],
  'an update of an outdated VMI with hotplugged CPUs': [
    { migration: update, vmi: changing('HotVCPUChange') },
    'LiveUpdate',
  ],
  'with hotplugged memory': [{ migration: update, vmi: changing('HotMemoryChange') }, 'LiveUpdate'],
  'with changed volumes': [{ migration: update, vmi: changing('VolumesChange') }, 'LiveUpdate'],
  'with a change that is over': [
    { migration: update, vmi: changing('HotVCPUChange', 'False') },
    'WorkloadUpdate',
  ],
  'a user’s migration from a drained node': [{}, 'UserRequested'],
  'a user’s migration of an outdated VMI': [{ vmi: outdated }, 'UserRequested'],
};

test.each(Object.entries(CASES))('%s', (_, [different, want]) => {
  const input = {
    migration: aMigration(),
    vmi: aVmi(),
    pods: [aLauncher()],
    nodes: new Map([['node1', 'draining'] as const]),
  };
  expect(purposeOf({ ...input, ...different })).toBe(want);
});

const NO_SCHEDULE = { effect: 'NoSchedule' };
const NODES: Record<string, readonly [Node['spec'], boolean, string?]> = {
  cordoned: [{ unschedulable: true }, true],
  'with KubeVirt’s drain taint': [{ taints: [{ key: 'kubevirt.io/drain', ...NO_SCHEDULE }] }, true],
  'with KubeVirt’s drain taint of another effect': [
    { taints: [{ key: 'kubevirt.io/drain', effect: 'PreferNoSchedule' }] },
    false,
  ],
  'with another taint': [{ taints: [{ key: 'other', ...NO_SCHEDULE }] }, false],
  'with KubeVirt’s nodeDrainTaintKey': [{ taints: [{ key: 'other', ...NO_SCHEDULE }] }, true, 'other'],
  'with the default taint, where KubeVirt has another key': [
    { taints: [{ key: 'kubevirt.io/drain', ...NO_SCHEDULE }] },
    false,
    'other',
  ],
  uncordoned: [{ unschedulable: false }, false],
  'without a spec': [undefined, false],
};

test.each(Object.entries(NODES))('a node %s', (_, [spec, want, taint]) => {
  const node: Node = { metadata: { ...aVmi().metadata }, ...(spec === undefined ? {} : { spec }) };
  expect(isDraining(node, taint)).toBe(want);
});

const CORDONED_AT = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule', timeAdded: seconds(5) };
const TAINTED_AT = { key: 'taint', effect: 'NoSchedule', timeAdded: seconds(7) };
test.each<[string, NonNullable<Node['spec']>, number]>([
  ['by the taint of a cordoned node', { unschedulable: true, taints: [CORDONED_AT] }, NOW + 5_000],
  ['by the drain taint, with its time', { taints: [TAINTED_AT] }, NOW + 7_000],
  ['by the first of both', { unschedulable: true, taints: [TAINTED_AT, CORDONED_AT] }, NOW + 5_000],
  [
    'by one of both, where the other has no time',
    { taints: [{ key: 'taint', effect: 'NoSchedule' }, CORDONED_AT] },
    NOW + 5_000,
  ],
  ['unknown while a cordoned node does not have its taint', { unschedulable: true }, -Infinity],
  ['unknown by other taints', { taints: [{ ...TAINTED_AT, key: 'other' }] }, -Infinity],
])('since when a node is drained: %s', (_, spec, want) => {
  expect(drainingSince({ metadata: metadata('node1'), spec }, 'taint')).toBe(want);
});
