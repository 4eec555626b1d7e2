import { shown } from '../../domain/foreign-text.ts';
import type { MigrationStatus, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';

const ENDS: readonly string[] = [LIVE_CONDITION.succeeded, LIVE_CONDITION.failed, LIVE_CONDITION.canceled];

/**
 * Objects that the run made for the VM and could not delete, or must not: `Kind namespace/name`. They are in the items of the condition of
 * the VM's end, because a CRD of Forklift's own keeps those, and drops fields that only this project has.
 */
export const leftoversOf = ({ conditions = [] }: Pick<VmStatus, 'conditions'>): readonly string[] =>
  (conditions.find(({ type }) => ENDS.includes(type))?.items ?? []).map((item) => shown(item));

/** Returns the VM's status with these leftovers, if it has its end. */
export const withLeftovers = (vm: VmStatus, leftovers: readonly string[]): VmStatus => ({
  ...vm,
  ...(vm.conditions && {
    conditions: vm.conditions.map((condition) => {
      if (!ENDS.includes(condition.type)) return condition;
      const { items: _, ...end } = condition;
      return { ...end, ...(leftovers.length > 0 && { items: [...leftovers] }) };
    }),
  }),
});

/** The leftovers of all VMs of a run. */
export const allLeftovers = ({ vms = [] }: Pick<MigrationStatus, 'vms'>): string[] =>
  vms.flatMap(leftoversOf);
