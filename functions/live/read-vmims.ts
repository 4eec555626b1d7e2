import type { Vmim } from '../domain/live/kubevirt.ts';
import { LIVE_LABEL } from '../domain/live/names.ts';
import { vmimName, type RunId } from '../domain/live/run-names.ts';
import type { RunRecord } from '../domain/live/run-record.ts';
import type { Reader } from '../kubernetes/cluster.ts';
import { VMIMS } from '../kubernetes/live-resources.ts';
import { found } from './found.ts';

/** Selects what belongs to this VM of the run alone. */
export const ofRun = ({ migration, vm }: RunId): string =>
  `${LIVE_LABEL.migration}=${migration},${LIVE_LABEL.vm}=${vm}`;

/**
 * The run's VMIMs of one side. A tenant may take labels away, and a VMIM that seems to be gone is a proof that its migration is over: so
 * the present one is also asked for by its name.
 */
export async function readVmims(
  reader: Reader,
  namespace: string,
  { run, record }: { readonly run: RunId; readonly record: RunRecord | undefined },
): Promise<readonly Vmim[]> {
  const { items } = await reader.list(VMIMS, { namespace, labelSelector: ofRun(run) });
  const { attempt = 0 } = record ?? {};
  const name = vmimName(run, attempt);
  if (attempt === 0 || items.some(({ metadata }) => metadata.name === name)) return items;
  const present = await found(reader.get(VMIMS, { namespace, name }));
  return present === undefined ? items : [...items, present];
}
