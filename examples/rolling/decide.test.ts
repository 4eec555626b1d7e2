import { describe, expect, test } from '@jest/globals';
import {
  decide,
  isOn,
  MARK,
  patchOf,
  WORKED_MARK,
  workedPatch,
  type Node,
  type Progress,
  type Seen,
  type Vmi,
} from './decide.ts';

const TAINT = { key: 'kubevirt.io/drain', effect: 'NoSchedule' };
const OTHER = { key: 'other', effect: 'NoExecute' };

const node = (name: string, mark?: object, spec: Node['spec'] = {}, worked?: string): Node => ({
  metadata: {
    name,
    uid: `uid-of-${name}`,
    resourceVersion: '7',
    annotations: {
      ...(mark === undefined ? {} : { [MARK]: JSON.stringify(mark) }),
      ...(worked === undefined ? {} : { [WORKED_MARK]: worked }),
    },
  },
  spec,
});
const cordoned = (name: string, mark?: object, worked?: string): Node =>
  node(name, mark, { unschedulable: true }, worked);
const OURS = { roll: 'first', after: 1 };
const DONE = { ...OURS, isDone: true };

const drain = (number: number, state: string, of = 'node1'): Progress => ({
  metadata: { name: `drain-12345678-${String(number)}` },
  spec: { node: { uid: `uid-of-${of}` } },
  status: { state },
});

const decided = (nodes: readonly Node[], different: Partial<Seen> = {}): string => {
  const seen = { roll: 'first', nodes, progresses: [], occupied: new Set<string>() };
  const action = decide({ ...seen, ...different });
  return action.do === 'nothing' ? action.why : `${action.do} ${action.node.metadata.name}`;
};

describe('what to do next', () => {
  test.each<[string, readonly Node[], Partial<Seen>, string]>([
    ['no node is cordoned', [node('node1'), node('node2')], {}, 'cordon node1'],
    ['the first is done', [node('node1', DONE), node('node2')], {}, 'cordon node2'],
    ['it was done in another round', [node('node1', { ...DONE, roll: 'other' })], {}, 'cordon node1'],
    ['its annotation is no mark', [node('node1', ['x'])], {}, 'cordon node1'],
    ['every node is done', [node('node1', DONE)], {}, 'every node is done'],
    [
      'VMs are on it',
      [cordoned('node1', OURS, 'first'), node('node2')],
      { occupied: new Set(['node1']) },
      'node1 is being drained',
    ],
    [
      'its drain is not completed',
      [cordoned('node1', OURS)],
      { progresses: [drain(2, 'Running')] },
      'node1 is being drained',
    ],
    [
      'its drain is completed',
      [cordoned('node1', OURS)],
      { progresses: [drain(2, 'Completed')] },
      'work node1',
    ],
    [
      'a drain before this one was completed, and VMs are on it',
      [cordoned('node1', OURS)],
      { progresses: [drain(1, 'Completed')], occupied: new Set(['node1']) },
      'node1 is being drained',
    ],
    [
      'the drain of another node was completed',
      [cordoned('node1', OURS)],
      { progresses: [drain(2, 'Running'), drain(3, 'Completed', 'node2')] },
      'node1 is being drained',
    ],
    ['it never had a VM', [cordoned('node1', OURS)], {}, 'work node1'],
    ['it was worked on', [cordoned('node1', OURS, 'first')], {}, 'uncordon node1'],
    ['it was worked on in another round', [cordoned('node1', OURS, 'other')], {}, 'work node1'],
    [
      'another was worked on',
      [cordoned('node1', OURS), node('node2', undefined, {}, 'first')],
      {},
      'work node1',
    ],
    [
      'it was worked on, and its drain is not completed',
      [cordoned('node1', OURS, 'first')],
      { progresses: [drain(2, 'Running')] },
      'node1 is being drained',
    ],
    [
      'somebody else uncordoned it',
      [node('node1', OURS, {}, 'first'), node('node2')],
      {},
      'node1 was uncordoned by somebody else',
    ],
    [
      'somebody else cordoned the next one',
      [node('node1', DONE), cordoned('node2', undefined, 'first'), node('node3')],
      {},
      'node2 was cordoned by somebody else',
    ],
  ])('%s', (...[, nodes, different, want]) => {
    expect(decided(nodes, different)).toBe(want);
  });
});

test.each<[string, Vmi['status'], boolean]>([
  ['runs there', { phase: 'Running', nodeName: 'node1' }, true],
  ['has ended there', { phase: 'Succeeded', nodeName: 'node1' }, false],
  ['migrates to it', { nodeName: 'node2', migrationState: { targetNode: 'node1' } }, true],
  ['migrates to another node', { nodeName: 'node2', migrationState: { targetNode: 'node3' } }, false],
  [
    'has left it since',
    { nodeName: 'node2', migrationState: { targetNode: 'node1', completed: true } },
    false,
  ],
  ['failed to come', { nodeName: 'node2', migrationState: { targetNode: 'node1', failed: true } }, false],
])('whether a VM is on the node: it %s', (_, status, want) => {
  expect(isOn('node1', status === undefined ? {} : { status })).toBe(want);
});

describe('the patch', () => {
  const patching = { roll: 'first', taint: TAINT.key, progresses: [drain(4, 'Completed')] };

  test('that cordons adds the taint, and notes the drains before', () => {
    expect(patchOf('cordon', node('node1', undefined, { taints: [OTHER] }), patching)).toEqual({
      metadata: { resourceVersion: '7', annotations: { [MARK]: '{"roll":"first","after":4}' } },
      spec: { unschedulable: true, taints: [OTHER, TAINT] },
    });
  });

  test('that uncordons removes the own taint only', () => {
    const before = node('node1', OURS, { unschedulable: true, taints: [TAINT, OTHER] });
    expect(patchOf('uncordon', before, patching)).toEqual({
      metadata: { resourceVersion: '7', annotations: { [MARK]: '{"roll":"first","after":4,"isDone":true}' } },
      spec: { unschedulable: null, taints: [OTHER] },
    });
  });

  test('that marks a node as worked on changes nothing else', () => {
    expect(workedPatch(cordoned('node1', OURS), 'first')).toEqual({
      metadata: { uid: 'uid-of-node1', annotations: { [WORKED_MARK]: 'first' } },
    });
  });
});
