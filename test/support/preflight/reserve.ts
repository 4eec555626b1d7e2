import { canonicalKey, type Amounts } from '../../../functions/domain/quota/charged.ts';
import type { ClusterVmmrq, ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import { formatQuantity, parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';
import { ordersOf, withEntries, withoutLocks } from '../../../functions/domain/total/reservation.ts';
import { totalOf } from '../../../functions/domain/total/total.ts';
import type { Assessment } from '../../../functions/domain/verdict/assessment.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { CLUSTER_VMMRQS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { AllowanceHistory } from '../invariants/allowance-history.ts';

/** Of the one lock that there is at a time. */
export const TOKEN = 'preflight';

const UNTIL = new Date(0).toISOString();

/** Enters what the lock takes of totals, as `lock` does: the VMMRQs' names; undefined: a total leaves no room for it. */
export async function reserve(
  admin: Cluster,
  namespace: string,
  { quotas, vmmrqs }: Assessment,
): Promise<string[] | undefined> {
  const stored = (await admin.list(RESOURCE_QUOTAS, { namespace })).items;
  const lock = { token: TOKEN, expiresAt: UNTIL, quotas: [...quotas] };
  const reserved: string[] = [];
  for (const { name, entries } of ordersOf({ namespace, lock, quotas: stored, givers: vmmrqs })) {
    const next = withEntries(await read(admin, name), entries);
    if (next === undefined) return undefined;
    await admin.replace(CLUSTER_VMMRQS, next, { subresource: 'status' });
    reserved.push(name);
  }
  return reserved;
}

export async function clearReservation(admin: Cluster, namespace: string, name: string): Promise<void> {
  const next = withoutLocks(await read(admin, name), [{ namespace, token: TOKEN }]);
  if (next !== undefined) await admin.replace(CLUSTER_VMMRQS, next, { subresource: 'status' });
}

const read = async (admin: Cluster, name: string): Promise<ClusterVmmrq> =>
  (await admin.get(CLUSTER_VMMRQS, { name })).object;

/** By what raised quotas add more than the total of a VMMRQ that gives to them, counted by their amounts alone; undefined: by nothing. */
export function beyondTotals(raised: readonly ResourceQuota[], givers: readonly Vmmrq[]): string | undefined {
  const others = new AllowanceHistory();
  others.see(givers.filter((vmmrq) => totalOf(vmmrq) === undefined));
  for (const vmmrq of givers) {
    for (const [key, max] of totalOf(vmmrq) ?? NO_TOTAL) {
      const given = raised.reduce((sum, quota) => sum + givenBeside(others, quota, key), 0n);
      if (given > max)
        return `${vmmrq.metadata.name} gave ${key}=${formatQuantity(given)}, and its total is ${formatQuantity(max)}`;
    }
  }
  return undefined;
}

const NO_TOTAL: Amounts = new Map();

/** What a raise adds to a key beyond what VMMRQs without a total give. */
function givenBeside(others: AllowanceHistory, { spec, status }: ResourceQuota, key: string): Amount {
  const raises = Object.entries(status?.hard ?? {}).filter(([spelt]) => canonicalKey(spelt) === key);
  return raises.reduce((sum, [spelt, text]) => {
    const hard = parseQuantity(spec.hard?.[spelt] ?? text);
    const beside = parseQuantity(text) - hard - others.of({ key, hard, migrations: [] }).max;
    return beside > 0n ? sum + beside : sum;
  }, 0n);
}
