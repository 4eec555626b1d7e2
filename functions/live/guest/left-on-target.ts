import { LIVE_LABEL } from '../../domain/live/names.ts';
import { describe } from '../run/describe.ts';
import { isPastCutOver, recordIn } from '../run/record.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { isOnTargetAlone } from './has-moved.ts';

/**
 * Objects that a VM that goes back leaves on the target on purpose, and that hold nothing up (L3): copies that other VMs use by now, and
 * the namespace, in which others may have put something. Past the cut-over the VM there uses both.
 */
export function leftOnTarget(snapshot: RunSnapshot): string[] {
  const { made, namespace } = snapshot.target;
  if (!isBack(snapshot)) return [];
  const isOwn = namespace?.metadata.labels?.[LIVE_LABEL.plan] === snapshot.run.plan;
  return [...(made?.used ?? []).map(describe), ...(isOwn ? [`Namespace ${namespace.metadata.name}`] : [])];
}

/** Whether the VM has not moved, and never will by this run. A source VM that was deleted has no record to say so. */
function isBack(snapshot: RunSnapshot): boolean {
  if (snapshot.source.vm === undefined) return !isOnTargetAlone(snapshot);
  const record = recordIn(snapshot);
  return record?.end !== undefined && !isPastCutOver(record);
}
