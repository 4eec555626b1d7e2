import { expect, test } from '@jest/globals';
import { aVmi } from '../../test/support/builders/kubevirt.ts';
import type { VirtualMachineInstance } from '../domain/objects.ts';
import { LISTED_VMIS_TO_MOVE } from './listed-maintenance.ts';

const kept = (activePods: Record<string, string>): VirtualMachineInstance['status'] =>
  LISTED_VMIS_TO_MOVE.trim({ ...aVmi(), status: { ...aVmi().status, activePods } })?.object.status;

/** The guard keeps every VMI of a node that is drained, and nearly all have one launcher. */
test('of the active pods of a VMI only several are kept', () => {
  expect(kept({ one: 'node1' })).toEqual(aVmi().status);
  expect(kept({ one: 'node1', other: 'node2' })?.activePods).toEqual({ one: 'node1', other: 'node2' });
});
