import { canonicalKey, isChargedByPods } from '../../../functions/domain/quota/charged.ts';
import { quotaCoversPod } from '../../../functions/domain/quota/scopes.ts';
import { claimUsage } from '../../../functions/domain/sizing/claims.ts';
import { podUsage } from '../../../functions/domain/sizing/pod-usage.ts';
import type { PersistentVolumeClaim, Pod, ResourceQuota } from '../../../functions/domain/objects.ts';
import {
  formatQuantity,
  parseQuantity,
  sameQuantity,
  type Amount,
} from '../../../functions/domain/quantity.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { CLAIMS, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { askUntil } from '../eventually.ts';

export interface Stored {
  readonly pods: readonly Pod[];
  readonly claims: readonly PersistentVolumeClaim[];
}

const isOver = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** What the quota controller counts under a key. */
export function countOf(quota: Pick<ResourceQuota, 'spec'>, key: string, { pods, claims }: Stored): Amount {
  const covered = pods.filter((pod) => quotaCoversPod(quota as ResourceQuota, pod));
  if (key === 'count/pods') return parseQuantity(String(covered.length));
  if (!isChargedByPods(key)) return sum(claims.map((claim) => claimUsage(claim).get(key) ?? 0n));
  return sum(covered.filter((pod) => !isOver(pod)).map((pod) => podUsage(pod).get(canonicalKey(key)) ?? 0n));
}

const sum = (amounts: readonly Amount[]): Amount => amounts.reduce((total, each) => total + each, 0n);

/** Keys of other kinds, of which the tests create none or which the API server creates by itself. */
const isOther = (key: string): boolean => key === 'services' || key === 'count/configmaps';

/** Looks before the quota controller is made to count again: it may have counted from a cache of pods that was behind. */
const LOOKS = 40;

/** Resolves when the quota controller has counted all that is stored, and enforces what the specs say. */
export async function untilCounted(admin: Cluster, namespace: string): Promise<ResourceQuota[]> {
  let looks = 0;
  const { items } = await askUntil(
    `the quotas of ${namespace} are counted`,
    async () => {
      looks += 1;
      const seen = await look(admin, namespace);
      if (looks % LOOKS === 0) for (const { quota } of seen.differences) await recount(admin, quota);
      return seen;
    },
    ({ differences: list }) => list.length === 0,
  );
  return items;
}

interface Difference {
  readonly quota: ResourceQuota;
  readonly text: string;
}

async function look(
  admin: Cluster,
  namespace: string,
): Promise<{ readonly items: ResourceQuota[]; readonly differences: Difference[] }> {
  const [{ items }, { items: pods }, { items: claims }] = await Promise.all([
    admin.list(RESOURCE_QUOTAS, { namespace }),
    admin.list(PODS, { namespace }),
    admin.list(CLAIMS, { namespace }),
  ]);
  return { items, differences: items.flatMap((quota) => differencesOf(quota, { pods, claims })) };
}

/** The quota controller counts a quota whose spec changes. */
async function recount(admin: Cluster, { metadata, spec }: ResourceQuota): Promise<void> {
  const at = { namespace: metadata.namespace ?? '', name: metadata.name };
  const [[key, amount] = ['', '0']] = Object.entries(spec.hard ?? {});
  const other = formatQuantity(parseQuantity(amount) + parseQuantity('1'));
  for (const hard of [{ [key]: other }, { [key]: amount }]) {
    await admin.patch(RESOURCE_QUOTAS, at, { merge: { spec: { hard } } });
  }
}

function differencesOf(quota: ResourceQuota, stored: Stored): Difference[] {
  const { metadata, spec, status } = quota;
  return Object.entries(spec.hard ?? {})
    .filter(([key]) => !isOther(key))
    .flatMap(([key, hard]) => {
      const want = formatQuantity(countOf({ spec }, key, stored));
      const [enforced, used] = [status?.hard?.[key], status?.used?.[key]];
      const isRight =
        enforced !== undefined &&
        used !== undefined &&
        sameQuantity(enforced, hard) &&
        sameQuantity(used, want);
      const text = `${metadata.name} ${key}: ${String(used)} of ${String(enforced)}, not ${want} of ${hard}`;
      return isRight ? [] : [{ quota, text }];
    });
}
