import { withAdvice } from '../domain/advice.ts';
import { REASON } from '../domain/names.ts';
import { describeAmountText } from '../domain/quantity.ts';
import { BLOCKED_BY, MAINTENANCE_REASON, type BlockedReason } from '../domain/progress/names.ts';
import type { Counts } from './counts.ts';
import type { Maintenance } from '../domain/progress/maintenance.ts';
import type { BucketEntry, BucketName, ProgressStatus } from '../domain/progress/progress-object.ts';

/** Which bucket has the VMs that a reason is about. */
const BUCKET_OF: Readonly<Record<BlockedReason, BucketName>> = {
  [BLOCKED_BY.quota]: 'blocked',
  [BLOCKED_BY.notMigratable]: 'notMigratable',
  [BLOCKED_BY.notAutomated]: 'notAutomated',
  [BLOCKED_BY.capacity]: 'waiting',
  [BLOCKED_BY.migrationFailed]: 'failed',
  [BLOCKED_BY.stopping]: 'restarted',
  [BLOCKED_BY.external]: 'waiting',
  [BLOCKED_BY.notEvicted]: 'waiting',
  [BLOCKED_BY.pending]: 'waiting',
  [BLOCKED_BY.limit]: 'waiting',
};

/** What to do about each; the message ends with it. */
const ADVICE_OF: Readonly<Record<BlockedReason, string>> = {
  [BLOCKED_BY.quota]: 'Free quota there, or give more by a VMMRQ or a cluster-wide one.',
  [BLOCKED_BY.notMigratable]: 'Stop these VMs, or change what keeps them from being migrated.',
  [BLOCKED_BY.notAutomated]: "Set workloadUpdateMethods in KubeVirt's spec, or restart the VMs.",
  [BLOCKED_BY.capacity]: 'Describe the target pods. Where they find no node, add nodes.',
  [BLOCKED_BY.migrationFailed]: 'Describe these VMIs: status.migrationState says why.',
  [BLOCKED_BY.stopping]: 'Force-stop these VMs: virtctl stop --force --grace-period=0.',
  [BLOCKED_BY.external]: 'Another controller must move or stop these VMs: see what it does.',
  [BLOCKED_BY.notEvicted]: 'Nothing evicts these VMs: run kubectl drain again, or uncordon the node.',
  [BLOCKED_BY.pending]: 'Describe these VMIs: their Events say what refuses their migrations or target pods.',
  [BLOCKED_BY.limit]: "Wait for other migrations, or increase KubeVirt's parallel migration limits.",
};

/** How an open drain or upgrade is: state, reason and message. */
export function openStatus(
  { blockedBy, buckets, kind, arriving = 0 }: Maintenance,
  { total, done, left }: Counts,
): Pick<ProgressStatus, 'state' | 'reason' | 'message' | 'blocked'> {
  const counts = Object.values(BLOCKED_BY).flatMap((reason) => {
    const count = blockedBy[reason] ?? 0;
    return count === 0 ? [] : [{ reason, count }];
  });
  const [first] = counts;
  const how = kind === 'Drain' ? 'have left the node' : 'are up to date';
  if (first === undefined) {
    const rest = left === 0 && arriving > 0 ? `; migrating to it: ${String(arriving)}` : '';
    const message = `${String(done)} of ${String(total)} VMs ${how}${rest}`;
    return { state: 'Running', reason: MAINTENANCE_REASON.underWay, message, blocked: 0 };
  }
  const example = buckets.find(({ name }) => name === BUCKET_OF[first.reason])?.vms[0];
  const named = example === undefined ? '' : `, such as ${describeEntry(example)}`;
  const blocked = counts.reduce((sum, { count }) => sum + count, 0);
  const why = counts.map(({ reason, count }) => `${String(count)} ${reason}`).join(', ');
  const text = `of ${String(left)} VMs left, ${String(blocked)} do not get on: ${why}${named}`;
  return { state: 'Blocked', reason: first.reason, blocked, message: advised(text, first.reason, example) };
}

/** What a verdict may be behind. */
const BY_VERDICT: readonly BlockedReason[] = [BLOCKED_BY.quota, BLOCKED_BY.pending];
/** Verdicts that more quota helps, here or for all tenants. */
const LACKING: readonly (string | undefined)[] = [REASON.notEnough, REASON.noVmmrq];

/**
 * What to do about a refusal by a quota that no verdict explains. Feasibility reports no verdict that a pod fits, so more quota may help
 * nothing.
 */
const EXPLAIN =
  'kubectl vmmrq explain says what a migration lacks, or that virt-controller only has to look again.';

/** Appends the advice. A verdict of another kind, such as a policy's refusal, has its own. */
function advised(text: string, by: BlockedReason, { reason }: Partial<BucketEntry> = {}): string {
  const isOther = reason !== undefined && BY_VERDICT.includes(by) && !LACKING.includes(reason);
  if (!isOther) return `${text}. ${ADVICE_OF[by]}`;
  const specific = withAdvice(text, [reason]);
  if (specific !== text) return specific;
  return `${text}. ${by === BLOCKED_BY.quota ? EXPLAIN : ADVICE_OF[by]}`;
}

/** Describes a VM and what it waits for, to people. */
export function describeEntry({ namespace, name, reason, message, quotas = [] }: BucketEntry): string {
  const lacks = quotas.map(({ name: quota, missing }) => {
    const amounts = Object.entries(missing).map(
      ([key, amount]) => `${key}=${describeAmountText(key, amount)}`,
    );
    return `ResourceQuota ${quota} lacks ${amounts.join(', ')}`;
  });
  const why = lacks.length === 0 ? message : lacks.join('; ');
  return `${namespace}/${name} (${[reason, why].filter(Boolean).join(': ')})`;
}
