import { describe, expect, test } from '@jest/globals';
import { aProgress, aStatus } from '../../test/support/builders/maintenance.ts';
import { createdAt, named } from '../../test/support/builders/object.ts';
import type { MaintenanceProgress, ProgressState } from '../../functions/domain/progress/progress-object.ts';
import { chosen, endedAbout } from './choose.ts';
import { endOf } from './kind.ts';
import { MAINTENANCE } from './maintenance.ts';

const drain = (name: string, state: ProgressState = 'Running', at = 0): MaintenanceProgress =>
  createdAt(at)(named(name)(aProgress('Drain', aStatus([1, 2], [1], { state }))));
const upgrade = named('upgrade-new-1')(aProgress('Upgrade', aStatus([1], [1])));

describe('followed is', () => {
  const all = [
    drain('drain-a-9', 'Completed'),
    drain('drain-a-10', 'Blocked'),
    drain('drain-b-1', 'Canceled', -60),
    {
      ...drain('drain-c-1', 'Completed'),
      spec: { kind: 'Drain', subject: 'node3' } as MaintenanceProgress['spec'],
    },
    upgrade,
  ];

  test.each<[string, string | undefined, string[]]>([
    ['without a name, what is open', undefined, ['drain-a-10', 'upgrade-new-1']],
    ['that of the name, also a final one', 'drain-a-9', ['drain-a-9']],
    ['the open one about a node', 'node1', ['drain-a-10']],
    ['nothing of a node whose drains have ended', 'node3', []],
    ['the one about a deployment', 'new', ['upgrade-new-1']],
    ['nothing of another name', 'node2', []],
  ])('%s', (_, name, want) => {
    expect(chosen(all, name).map(({ metadata }) => metadata.name)).toEqual(want);
  });
});

test('what has ended about a node is named, the newest last', () => {
  const all = [drain('drain-a-2', 'Completed'), drain('drain-a-1', 'Completed', -60), upgrade];
  expect(endedAbout(all, 'node1')).toEqual(['drain-a-1', 'drain-a-2']);
});

test.each<[ProgressState[], string | undefined]>([
  [['Running', 'Completed'], undefined],
  [['Blocked'], undefined],
  [['Completed', 'Completed'], 'completed'],
  [['Completed', 'Canceled'], 'failed'],
  [['Superseded'], 'failed'],
  [['Failed'], 'failed'],
])('%j ends as %s', (states, end) => {
  const drains = states.map((state, index) => drain(`drain-${String(index)}`, state));
  expect(endOf(drains, MAINTENANCE)).toBe(end);
});

test('one without a status is open', () => {
  expect(endOf([aProgress('Drain')], MAINTENANCE)).toBeUndefined();
});
