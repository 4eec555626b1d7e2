import { has } from './conditions.ts';
import type { VmStatus } from './forklift.ts';
import { LIVE_CONDITION } from './names.ts';

/**
 * Whether the place of the VM is the target, however its run ended: the guest was seen there. The VM on the source must neither be started
 * nor moved again, because its disks are out of date, or may be.
 */
export const hasMoved = (shown: Pick<VmStatus, 'conditions'>): boolean =>
  has(shown, LIVE_CONDITION.succeeded) || has(shown, LIVE_CONDITION.cutOver);
