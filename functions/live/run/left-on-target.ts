import { LIVE_LABEL } from '../../domain/live/names.ts';
import { isPastCutOver, recordIn } from './record.ts';
import type { RunSnapshot } from './snapshot.ts';
import { describe } from './describe.ts';

/**
 * Objects that a VM that goes back leaves on the target on purpose, and that hold nothing up (L3): copies that other VMs use by now, and
 * the namespace, in which others may have put something. Past the cut-over the VM there uses both.
 */
export function leftOnTarget(snapshot: RunSnapshot): string[] {
  const { made, namespace } = snapshot.target;
  const record = recordIn(snapshot);
  if (record?.end === undefined || isPastCutOver(record)) return [];
  const isOwn = namespace?.metadata.labels?.[LIVE_LABEL.plan] === snapshot.run.plan;
  return [...(made?.used ?? []).map(describe), ...(isOwn ? [`Namespace ${namespace.metadata.name}`] : [])];
}
