import { expect, test } from '@jest/globals';
import {
  aDrain,
  anUpgrade,
  aProgress,
  aStatus,
  bucket,
  but,
  keysOf,
  NODE,
} from '../../test/support/builders/maintenance.ts';
import { NOW } from '../../test/support/builders/object.ts';
import type { Maintenance } from '../domain/progress/maintenance.ts';
import { decide } from './decide.ts';

const KUBEVIRT = { name: 'kubevirt', namespace: 'kubevirt', uid: 'u' };
const OPEN = but({
  current: aProgress('Drain', aStatus([1], [1], { message: 'VMs that have left the node: 0 of 1' })),
});
const CANCELED = but({
  current: aProgress('Drain', aStatus([1], [1], { state: 'Canceled', buckets: [bucket('running', 1)] })),
});
const ENDED = but({ current: aProgress('Drain', aStatus([1], [], { state: 'Completed' })), highest: 3 });

test.each<[string, Maintenance, string]>([
  ['a node with a marked VM', aDrain([1]), 'open drain-12345678-1'],
  ['a node that was drained before', aDrain([1], ENDED), 'open drain-12345678-4'],
  [
    'a node that is drained again, while the canceled drain lists what still migrates: that goes first',
    aDrain([1], CANCELED),
    'write 0/1',
  ],
  ['a node that is only cordoned', aDrain([1], but({ isMarked: false })), 'none'],
  [
    'a node that takes pods: a tenant evicts an own VM',
    aDrain([1], but({ node: { ...NODE, isDraining: false } })),
    'none',
  ],
  ['a node without such VMs', aDrain([]), 'none'],
  ['a node that is gone', aDrain([1], but({ node: { name: 'node1', isDraining: false } })), 'none'],
  ['a drain that is up to date', aDrain([1], OPEN), 'none'],
  ['a drain with a newcomer', aDrain([1, 2], OPEN), 'write 0/2'],
  ['a drained node', aDrain([], ENDED), 'none'],
  [
    'a node whose VMs have left before the first look',
    aDrain([], but({ moved: keysOf(1), isMarked: false })),
    'open drain-12345678-1',
  ],
  [
    'a node that takes pods, and whose VM a tenant has evicted',
    aDrain([], but({ moved: keysOf(1), node: { ...NODE, isDraining: false } })),
    'none',
  ],
  [
    'a KubeVirt that changes',
    anUpgrade([], but({ kubevirt: { ...KUBEVIRT, observed: 'old', target: 'new' } })),
    'open upgrade-new-1',
  ],
  ['outdated VMs that appear', anUpgrade([1]), 'open upgrade-new-1'],
  [
    'a KubeVirt that is being installed',
    anUpgrade([1], but({ kubevirt: { ...KUBEVIRT, target: 'new' } })),
    'none',
  ],
  ['no KubeVirt', anUpgrade([1], but({ kubevirt: undefined })), 'none'],
  ['nothing outdated', anUpgrade([]), 'none'],
  [
    'VMs that were updated before the first look',
    anUpgrade([], but({ moved: keysOf(1) })),
    'open upgrade-new-1',
  ],
])('%s', (_, seen, want) => {
  const decision = decide(seen, NOW);
  const [what] =
    decision.kind === 'open'
      ? [decision.opening.name]
      : decision.kind === 'write'
        ? [decision.object.status?.progress ?? '']
        : [''];
  expect([decision.kind, what].filter(Boolean).join(' ')).toBe(want);
});
