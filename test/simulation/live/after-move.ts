import { isDecentralized } from '../../cluster/kubevirt/decentralized/sides.ts';
import type { Checked } from './checker.ts';
import type { Clusters } from './world/clusters.ts';
import type { ShownEnd } from './world/hub.ts';
import { EDIT_LABEL } from './world/seldom.ts';

type Ending = Checked & { readonly readSince: number };

/** What a success hides that lasts after it. */
export function hiddenBySuccess(
  { clusters, isTouched, readSince }: Ending,
  { as, haltsNext, edited }: ShownEnd,
): string | undefined {
  if (as !== 'Succeeded' || isTouched || clusters.vm('target') === undefined) return undefined;
  if (isHaltedNext(clusters) && !haltsNext)
    return 'L8: a success, and it is not shown that the next crash halts the VM';
  return isEdited(clusters, readSince) && !edited.includes(`metadata.labels.${EDIT_LABEL}`)
    ? 'L8: a success, and an edit that is not on the target is not shown'
    : undefined;
}

function isHaltedNext(clusters: Clusters): boolean {
  const [vm, vmi] = [clusters.vm('target'), clusters.vmi('target')];
  return (
    vm?.spec.runStrategy === 'Always' &&
    isDecentralized(vmi) &&
    vmi?.status?.migrationState?.completed === true
  );
}

/** Whether a user has edited the source VM after its copy was made, and before it was read. */
const isEdited = (clusters: Clusters, readSince: number): boolean =>
  clusters.editedAt < readSince &&
  clusters.vm('source') !== undefined &&
  clusters.vm('target')?.metadata.labels?.[EDIT_LABEL] === undefined;

/** What is left of a run with nothing left over that lasts: where the VM has moved, and the VMIM of its migration within the target. */
export function brokenByWhatLasts(checked: Checked): string | undefined {
  const { clusters, isTouched, isLate } = checked;
  const local = clusters.vmims('target').find(({ metadata }) => metadata.name.endsWith('-local'));
  return local !== undefined && !isTouched && !isLate(local)
    ? 'L4: the VMIM of the migration within the target stays'
    : brokenMovedTo(checked);
}

function brokenMovedTo({ clusters, truth, isTouched, isGivenUp }: Checked): string | undefined {
  const vm = clusters.vm('source');
  const hasMovedTo = vm?.metadata.annotations?.['live.mtq.kubevirt.io/moved-to'] !== undefined;
  if (hasMovedTo && !truth.hasArrived)
    return 'L3: the source VM says that it has moved, and its guest has stayed';
  return vm !== undefined && truth.hasMoved && !hasMovedTo && !isTouched && !isGivenUp
    ? 'L1: nothing on the source VM says that its guest has moved'
    : undefined;
}
