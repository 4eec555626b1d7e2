import { canonicalKey, isChargedByPods, type Amounts } from '../../../functions/domain/quota/charged.ts';
import type { ResourceList, ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import { formatQuantity, parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import { POD_KEYS, SCOPES, type FuzzCase, type AllowanceCase, type QuotaOf, type Slack } from './cases.ts';

const ONE = parseQuantity('1');
const unitOf = (key: string): Amount => (canonicalKey(key).endsWith('.cpu') ? parseQuantity('1m') : ONE);
/** The overhead after an upgrade is an estimate, so no memory headroom may lie within its margin. */
const isVague = (key: string, { change }: FuzzCase): boolean =>
  change === 'upgrade' && canonicalKey(key).endsWith('.memory');

export interface Spent {
  readonly hard: ResourceList;
  readonly used: ResourceList;
}

/** Limits and usage that leave the case's headroom for the target pod. */
export function spentOf({ keys }: QuotaOf, need: Amounts, of: FuzzCase): Spent {
  const hard: ResourceList = {};
  const used: ResourceList = {};
  for (const { key, slack, part } of keys) {
    const unit = unitOf(key);
    const wanted = need.get(canonicalKey(key)) ?? 0n;
    const size = wanted > 0n ? wanted : 10n * unit;
    const spent = 2n * size;
    const headroom = isChargedByPods(key) ? headroomOf(vaguely(slack, key, of), size, { part, unit }) : 0n;
    used[key] = formatQuantity(spent);
    hard[key] = formatQuantity(spent + headroom);
  }
  return { hard, used };
}

function vaguely(slack: Slack, key: string, of: FuzzCase): Slack {
  if (!isVague(key, of)) return slack;
  return slack === 'roomy' || slack === 'exact' ? 'roomy' : 'none';
}

function headroomOf(slack: Slack, size: Amount, { part, unit }: { part: number; unit: Amount }): Amount {
  const some = (((size * BigInt(part)) / 100n + unit) / unit) * unit;
  switch (slack) {
    case 'roomy':
      return size * 100n;
    case 'exact':
      return size;
    case 'short':
      return size - (some < size ? some : unit);
    case 'none':
      return 0n;
    case 'over':
      return -(some < size ? some : size);
  }
}

export const quotaSpec = ({ scope }: QuotaOf, hard: ResourceList): ResourceQuota['spec'] => {
  const matchExpressions = SCOPES[scope];
  return { hard, ...(matchExpressions.length === 0 ? {} : { scopeSelector: { matchExpressions } }) };
};

/** VMMRQs with the case's allowance, relative to the quotas' shortfall. */
export function allowanceCasesOf(of: FuzzCase, spent: readonly Spent[], need: Amounts): New<Vmmrq>['spec'][] {
  const missing = new Map<string, Amount>();
  for (const { hard, used } of spent) {
    for (const key of Object.keys(hard).filter(isChargedByPods)) {
      const canonical = canonicalKey(key);
      const lacks = amount(used[key]) + (need.get(canonical) ?? 0n) - amount(hard[key]);
      if (lacks > (missing.get(canonical) ?? 0n)) missing.set(canonical, lacks);
    }
  }
  return of.gives.map((allowance) => allowanceCaseOf(allowance, missing, of));
}

const amount = (text = '0'): Amount => parseQuantity(text);

function allowanceCaseOf(allowance: AllowanceCase, missing: Amounts, of: FuzzCase): Vmmrq['spec'] {
  const list: ResourceList = { pods: '0' };
  POD_KEYS.forEach((key, index) => {
    const canonical = canonicalKey(key);
    const lacks = missing.get(canonical) ?? 0n;
    const how = isVague(key, of) && allowance.each[index] !== 'nothing' ? 'plenty' : allowance.each[index];
    // A list may name a resource twice (cpu, requests.cpu); then the smaller amount counts.
    if (how === undefined || how === 'nothing') return;
    const given = { plenty: 2n * lacks + (1n << 32n) * ONE, exact: lacks, oneLess: lacks - unitOf(key) }[how];
    list[key] = formatQuantity(given > 0n ? given : 0n);
  });
  return {
    additionalMigrationResources: list,
    ...(allowance.percent === undefined || of.change === 'upgrade'
      ? {}
      : { additionalMigrationPercentage: `${String(allowance.percent)}%` }),
    ...(allowance.policy === undefined ? {} : { raisePolicy: allowance.policy }),
  };
}
