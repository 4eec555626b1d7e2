import type { ResourceQuota } from '../domain/objects.ts';
import { givenBy, withGiven } from '../domain/quota/given.ts';
import { isClusterWide } from '../domain/vmmrq-name.ts';
import { writeVmmrqStatus, type Reporter } from '../cluster/report.ts';
import { giversOf, type RaiseSnapshot } from './decide.ts';

/**
 * Enters in the status of each cluster-wide VMMRQ what it gave to the lock, by one PUT where no other namespace writes there. `written`: by
 * this round; a quota of an earlier round has its grant in the snapshot.
 */
export async function report(
  snapshot: RaiseSnapshot,
  written: readonly ResourceQuota[],
  reporter: Reporter,
): Promise<void> {
  const raised = new Map([...snapshot.quotas, ...written].map((quota) => [quota.metadata.uid, quota]));
  const givers = giversOf(snapshot);
  const writes = givers.filter(isClusterWide).map(async (vmmrq) => {
    const given = givenBy(snapshot.token, [...raised.values()], { vmmrq, givers });
    if (given.length > 0) await writeVmmrqStatus(reporter, vmmrq, (newest) => withGiven(newest, given));
  });
  await Promise.all(writes);
}
