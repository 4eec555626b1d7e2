import { LIMIT_MS, timeOf } from '../run/deadlines.ts';
import type { Vmim } from '../../domain/live/kubevirt.ts';
import { isPending, isReceiving, isRunning, wasRejectedByQuota } from '../../domain/migration.ts';
import { limitsOf } from '../../domain/view/view-of.ts';
import { LISTED_MIGRATIONS_TO_COME } from '../../cluster/listed.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { readKubeVirt } from './fit.ts';

/**
 * Whether KubeVirt on the target creates no launcher because it is at its limit of migrations at once, which it reports nowhere
 * (facts/cross-cluster.md §C5). Read only if the launcher is late: the list has the migrations of the whole cluster. A receiver whose
 * launcher is on no node yet counts as one that leaves the node "".
 */
export async function readIsQueued(
  reader: Reader,
  received: Vmim | undefined,
  now: number,
): Promise<boolean> {
  if (received === undefined || !isPending(received) || wasRejectedByQuota(received)) return false;
  if (now < timeOf(received.metadata.creationTimestamp) + LIMIT_MS.meeting) return false;
  const [kubevirt, { items }] = await Promise.all([
    readKubeVirt(reader),
    reader.list(LISTED_MIGRATIONS_TO_COME, {}),
  ]);
  const { cluster, node } = limitsOf(kubevirt);
  const running = items.filter(isRunning);
  const onNoNode = running.filter((each) => isReceiving(each) && each.status?.phase === 'Scheduling');
  return running.length >= cluster || onNoNode.length >= node;
}
