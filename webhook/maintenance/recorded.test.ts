import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { MaintenanceReplay, type RecordedLine } from '../../test/support/maintenance/maintenance-replay.ts';

/** Real traffic of the real virt-controller (test/recorded/README.md). */
const recorded = (name: string): RecordedLine[] =>
  readFileSync(new URL(`../../test/recorded/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedLine);

const NODES = ['node1', 'node2', 'node3', 'node4'];

describe('a drain of four nodes with one VM each, in two full namespaces', () => {
  const replay = new MaintenanceReplay(Date.parse('2026-11-23T04:03:58Z'));
  for (const line of recorded('drain-evacuation')) {
    replay.apply(line);
    for (const node of NODES) replay.look({ kind: 'Drain', node }, line.seconds);
  }

  test.each(NODES)('%s: its drain is started, blocked by the quota, and unblocked', (node) => {
    expect(replay.events.filter((event) => event.startsWith(node)).slice(0, 3)).toEqual([
      `${node} 1 started`,
      `${node} 2 blocked`,
      `${node} 3 unblocked`,
    ]);
  });

  /** The recording has no cordoned node, so that the VMs of node3 and node4 went to node1 and node2. */
  test('a drain is completed, or goes on with the VMs that come to its node meanwhile', () => {
    const last = NODES.map((node) => replay.events.findLast((event) => event.startsWith(node)));
    expect(last).toEqual([
      'node1 4 progressed',
      'node2 4 progressed',
      'node3 4 completed',
      'node4 4 completed',
    ]);
    const objects = [...replay.progresses.values()].toSorted((one, other) =>
      one.spec.subject < other.spec.subject ? -1 : 1,
    );
    expect(objects.map(({ status }) => [status?.state, status?.progress])).toEqual([
      ['Running', '1/2'],
      ['Running', '1/3'],
      ['Completed', '1/1'],
      ['Completed', '1/1'],
    ]);
  });
});

test('a drain counts the VMs that left before its first look, and not those of a drain before it', () => {
  const replay = new MaintenanceReplay(Date.parse('2026-11-23T04:03:58Z'));
  const lines = recorded('drain-evacuation');
  for (const line of lines) replay.apply(line);
  const seconds = lines.at(-1)?.seconds ?? 0;
  const progressOf = (): unknown[] =>
    [...replay.progresses.values()].map(({ spec, status }) => [
      spec.subject,
      status?.state,
      status?.progress,
    ]);
  const lookAtAll = (): void => {
    for (const node of NODES) replay.look({ kind: 'Drain', node }, seconds);
  };
  lookAtAll();
  lookAtAll();
  const want = [
    ['node1', 'Running', '1/2'],
    ['node2', 'Running', '1/3'],
    ['node3', 'Completed', '1/1'],
    ['node4', 'Running', '1/2'],
  ];
  expect(progressOf()).toEqual(want);
  expect(replay.events.filter((event) => event.startsWith('node3'))).toEqual([
    'node3 1 started',
    'node3 2 completed',
  ]);
  lookAtAll();
  expect(progressOf()).toEqual(want);
});

describe('an upgrade with four VMs in two full namespaces', () => {
  const replay = new MaintenanceReplay(Date.parse('2026-11-23T04:04:11Z'));
  const lines = recorded('upgrade-workload-update');
  for (const line of lines) {
    replay.apply(line);
    replay.look({ kind: 'Upgrade' }, line.seconds);
  }

  test('is not completed at observed = target, where KubeVirt still counts none; then it is blocked and comes on', () => {
    expect(replay.events).toEqual([
      'rig2 1 started',
      'rig2 2 blocked',
      'rig2 3 progressed',
      'rig2 4 progressed',
      'rig2 5 unblocked',
      'rig2 6 progressed',
      'rig2 7 progressed',
    ]);
    expect([...replay.progresses.values()].map(({ status }) => status)).toMatchObject([
      { state: 'Running', progress: '4/4' },
    ]);
  });

  test('counts the VMs that were updated before its first look', () => {
    const late = new MaintenanceReplay(Date.parse('2026-11-23T04:04:11Z'));
    for (const line of lines) late.apply(line);
    late.look({ kind: 'Upgrade' }, 51);
    expect([...late.progresses.values()].map(({ status }) => status)).toMatchObject([
      { state: 'Running', progress: '4/4' },
    ]);
    expect(late.events).toEqual(['rig2 1 started']);
  });

  test('is completed once it has settled', () => {
    replay.isSettled = true;
    replay.look({ kind: 'Upgrade' }, 111);
    expect(replay.events.at(-1)).toBe('rig2 8 completed');
  });
});
