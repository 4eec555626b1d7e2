import { LIVE_LABEL } from '../../domain/live/names.ts';
import { isVmimOf, localVmimName, vmimName, type RunId } from '../run/names.ts';
import type { Vmim } from '../../domain/live/kubevirt.ts';
import type { RunRecord } from '../run/record.ts';
import type { OwnVmims } from '../run/snapshot.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { VMIMS } from '../../kubernetes/live-resources.ts';
import { getOrUndefined } from './get.ts';

/** Selects the objects of this VM of the run alone. */
export const ofRun = ({ migration, vm }: RunId): string =>
  `${LIVE_LABEL.migration}=${migration},${LIVE_LABEL.vm}=${vm}`;

interface VmimsOfRun {
  readonly run: RunId;
  readonly record: RunRecord | undefined;
  /** All VMIMs of the VMI, if they were listed; left out: only those of the run are. */
  readonly listed?: readonly Vmim[] | undefined;
}

/**
 * Reads the run's VMIMs of one side. A tenant may remove labels, and a VMIM that seems to be gone is a proof that its migration is over: so
 * the present one is also read by its name.
 */
export async function readVmims(
  reader: Reader,
  { namespace, name: vmi }: VmAt,
  { run, record, listed }: VmimsOfRun,
): Promise<OwnVmims> {
  const items = listed ?? (await reader.list(VMIMS, { namespace, labelSelector: ofRun(run) })).items;
  const { attempt = 0 } = record ?? {};
  const name = vmimName(run, attempt);
  const isListed = attempt === 0 || items.some(({ metadata }) => metadata.name === name);
  const present = isListed ? undefined : await getOrUndefined(reader.get(VMIMS, { namespace, name }));
  const all = present === undefined ? items : [...items, present];
  const vmims = all.filter((vmim) => isVmimOf(run, vmi, vmim));
  const taken = all.find((vmim) => attempt > 0 && vmim.metadata.name === name && !vmims.includes(vmim));
  const local = all.find((vmim) => vmim.metadata.name === localVmimName(run) && vmim.spec.vmiName === vmi);
  return { vmims, taken, local };
}
export interface VmAt {
  readonly namespace: string;
  readonly name: string;
}
