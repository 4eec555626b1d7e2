import { parseQuantity, sameQuantity } from '../../../functions/domain/quantity.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { Shortfall } from '../../../functions/domain/quota/charged.ts';
import { rawText } from '../raw-text.ts';

/** Why the API server refused an object. */
export interface Refusal {
  readonly text: string;
  /** Where a quota lacks headroom: of the first such quota, by the API server's own figures. */
  readonly quota?: string;
  readonly missing: readonly Shortfall[];
  /** "key=amount" of what was used, and of what is enforced. */
  readonly used: readonly Amount[];
  readonly limited: readonly Amount[];
}

type Amount = readonly [string, string];

const EXCEEDED = /exceeded quota: ([^,]+), requested: (\S+), used: (\S+), limited: (\S+)$/;

const listOf = (text: string): Amount[] =>
  text.split(',').map((each) => {
    const at = each.lastIndexOf('=');
    return [each.slice(0, at), each.slice(at + 1)];
  });

function refusalOf({ status, reason }: ApiError): Refusal {
  const text = rawText(status.message ?? reason);
  const [, quota, ...lists] = EXCEEDED.exec(text) ?? [];
  if (quota === undefined) return { text, missing: [], used: [], limited: [] };
  const [requested = [], used = [], limited = []] = lists.map((list) => listOf(list));
  const missing = requested.map(([key, amount], index): Shortfall => {
    const [before, max] = [used[index]?.[1] ?? '0', limited[index]?.[1] ?? '0'];
    return { key, missing: parseQuantity(amount) + parseQuantity(before) - parseQuantity(max) };
  });
  return { text, quota, missing, used, limited };
}

/** How often a create is repeated because the API server's cache of quotas is behind. */
const TRIES = 200;

/**
 * Creates an object; the refusal, if that is by what the quotas are now: quota admission reads them from a cache that may be a
 * moment behind.
 */
export async function createOrRefusal<T>(
  admin: Cluster,
  namespace: string,
  create: () => Promise<{ readonly object: T }>,
): Promise<{ readonly object: T } | Refusal> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await create();
    } catch (error) {
      if (!(error instanceof ApiError) || ![403, 422].includes(error.code)) throw error;
      const refusal = refusalOf(error);
      if (await isCurrent(admin, namespace, refusal)) return refusal;
      if (tries === TRIES)
        throw new Error(`the API server still decides by an old quota: ${refusal.text}`, { cause: error });
    }
  }
}

export const isRefusal = <T>(result: { readonly object: T } | Refusal): result is Refusal => 'text' in result;

async function isCurrent(
  admin: Cluster,
  namespace: string,
  { text, quota, used, limited }: Refusal,
): Promise<boolean> {
  if (text.includes('status unknown for quota')) return false;
  if (quota === undefined) return true;
  const { status } = (await admin.get(RESOURCE_QUOTAS, { namespace, name: quota })).object;
  const isSame = (list: readonly Amount[], now: Readonly<Record<string, string>> = {}): boolean =>
    list.every(([key, amount]) => sameQuantity(amount, now[key] ?? '0'));
  return isSame(used, status?.used) && isSame(limited, status?.hard);
}
