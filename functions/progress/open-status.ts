import { withAdvice } from '../domain/advice.ts';
import { REASON } from '../domain/names.ts';
import { describeAmounts } from '../domain/quantity.ts';
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
const ADVICE_OF: Readonly<Record<Exclude<BlockedReason, typeof BLOCKED_BY.quota>, string>> = {
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
  maintenance: Maintenance,
  { total, done, left }: Counts,
): Pick<ProgressStatus, 'state' | 'reason' | 'message' | 'blocked'> {
  const { blockedBy, buckets, kind, arriving = 0 } = maintenance;
  const counts = Object.values(BLOCKED_BY).flatMap((reason) => {
    const count = blockedBy[reason] ?? 0;
    return count === 0 ? [] : [{ reason, count }];
  });
  const [first] = counts;
  const how = kind === 'Drain' ? 'have left the node' : 'are up to date';
  if (first === undefined) {
    const rest = left === 0 && arriving > 0 ? `; migrating to it: ${String(arriving)}` : '';
    const message = `VMs that ${how}: ${String(done)} of ${String(total)}${rest}`;
    return { state: 'Running', reason: MAINTENANCE_REASON.underWay, message, blocked: 0 };
  }
  const example = buckets.find(({ name }) => name === BUCKET_OF[first.reason])?.vms[0];
  const blocked = counts.reduce((sum, { count }) => sum + count, 0);
  const text = describeBlocked(counts, { left, blocked, example });
  const advice = first.reason === BLOCKED_BY.quota ? giveMore(maintenance) : ADVICE_OF[first.reason];
  return {
    state: 'Blocked',
    reason: first.reason,
    blocked,
    message: advised(text, first.reason, { example, advice }),
  };
}

interface Blocked {
  readonly left: number;
  readonly blocked: number;
  readonly example: BucketEntry | undefined;
}

/** "1 of 5 VMs left is blocked by Quota: tenant/vm0 (…)"; "3 of 5 VMs left are blocked, 2 by Quota, 1 by Capacity, such as tenant/vm0 (…)" */
function describeBlocked(
  counts: readonly { readonly reason: BlockedReason; readonly count: number }[],
  { left, blocked, example }: Blocked,
): string {
  const by = counts.map(({ reason, count }) =>
    counts.length === 1 ? ` by ${reason}` : `, ${String(count)} by ${reason}`,
  );
  const are = `${left === 1 ? 'VM' : 'VMs'} left ${blocked === 1 ? 'is' : 'are'} blocked`;
  const named = example === undefined ? '' : `${blocked === 1 ? ':' : ', such as'} ${describeEntry(example)}`;
  return `${String(blocked)} of ${String(left)} ${are}${by.join('')}${named}`;
}

/** What to do about quotas that lack something. */
const giveMore = ({ kind, node }: Maintenance): string => {
  const what = kind === 'Drain' ? `node ${node?.name ?? 'NODE'}` : 'upgrade';
  return `Free quota there, or create what kubectl vmmrq preflight ${what} --suggest prints.`;
};

/** What a verdict may be behind. */
const BY_VERDICT: readonly BlockedReason[] = [BLOCKED_BY.quota, BLOCKED_BY.pending];
/** Verdicts that more quota helps, here or for all tenants. */
const LACKING: readonly (string | undefined)[] = [REASON.notEnough, REASON.noVmmrq];

/**
 * What to do about a refusal by a quota that no verdict explains. Feasibility reports no verdict that a pod fits, so more quota may help
 * nothing.
 */
const explain = (namespace: string): string =>
  `Run kubectl vmmrq explain MIGRATION -n ${namespace}: it says what is missing.`;

/** Appends the advice. A verdict of another kind, such as a policy's refusal, has its own. */
function advised(
  text: string,
  by: BlockedReason,
  {
    example: { reason, namespace = 'NAMESPACE' } = {},
    advice,
  }: { readonly example?: Partial<BucketEntry> | undefined; readonly advice: string },
): string {
  const isOther = reason !== undefined && BY_VERDICT.includes(by) && !LACKING.includes(reason);
  if (!isOther) return `${text}. ${advice}`;
  const specific = withAdvice(text, [reason]);
  if (specific !== text) return specific;
  return `${text}. ${by === BLOCKED_BY.quota ? explain(namespace) : advice}`;
}

/** Describes a VM and what it waits for, to people. */
export function describeEntry({ namespace, name, reason, message, quotas = [] }: BucketEntry): string {
  const lacks = quotas.map(({ name: quota, missing }) => {
    return `ResourceQuota ${quota} lacks ${describeAmounts(missing).join(', ')}`;
  });
  const why = lacks.length === 0 ? message : lacks.join('; ');
  return `${namespace}/${name} (${[reason, why].filter(Boolean).join(': ')})`;
}
