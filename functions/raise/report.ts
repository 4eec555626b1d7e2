import type { ResourceQuota } from '../domain/objects.ts';
import { givenBy, withGiven } from '../domain/quota/given.ts';
import { isClusterWide } from '../domain/vmmrq-name.ts';
import { writeVmmrqStatus, type Reporter } from '../cluster/report.ts';
import { giversOf, type RaiseSnapshot } from './decide.ts';

/**
 * Enters what the lock raised in the status of each cluster-wide VMMRQ that gave to it, by one PUT where no other namespace writes
 * there. `written`: by this round; a quota of an earlier round has its grant in the snapshot.
 */
export async function report(
  snapshot: RaiseSnapshot,
  written: readonly ResourceQuota[],
  reporter: Reporter,
): Promise<void> {
  const raised = new Map([...snapshot.quotas, ...written].map((quota) => [quota.metadata.uid, quota]));
  const given = givenBy(snapshot.token, [...raised.values()]);
  const givers = giversOf(snapshot).filter(isClusterWide);
  await Promise.all(
    givers.map((vmmrq) => writeVmmrqStatus(reporter, vmmrq, (newest) => withGiven(newest, given))),
  );
}
