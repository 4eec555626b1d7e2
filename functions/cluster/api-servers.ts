import { apiServersOf, type ApiServers } from '../domain/api-servers.ts';
import { API_SERVERS } from '../domain/names.ts';
import type { Reader } from '../kubernetes/cluster.ts';
import { describeError, isRejected } from '../kubernetes/errors.ts';
import { ENDPOINT_SLICES, LEASES } from '../kubernetes/resources.ts';

export interface KnownApiServers {
  /** Addresses that did not answer. */
  readonly unreachable: ReadonlySet<string>;
  /** Whether to read the leases, which only tell whether servers are hidden. */
  readonly needsLeases: boolean;
}

/**
 * Reads the API servers from the watch cache. Returns a text when we have no right to read them. Without the right to read
 * leases, servers count as hidden. Rejects as `list` does.
 */
export async function readApiServers(
  { cluster }: { readonly cluster: Pick<Reader, 'list'> },
  { unreachable, needsLeases }: KnownApiServers,
): Promise<ApiServers | string> {
  const [slices, leases] = await Promise.all([
    allowed(cluster.list(ENDPOINT_SLICES, API_SERVERS.slices, { resourceVersion: '0' })),
    needsLeases ? allowed(cluster.list(LEASES, API_SERVERS.leases, { resourceVersion: '0' })) : 'not asked',
  ]);
  if (typeof slices === 'string') return `the addresses of the API servers cannot be read: ${slices}`;
  return apiServersOf({
    slices: slices.items,
    leases: typeof leases === 'string' ? undefined : leases.items,
    unreachable,
    now: slices.date.getTime(),
  });
}

/** Returns the error text where the API server refuses for good. */
async function allowed<T>(list: Promise<T>): Promise<T | string> {
  try {
    return await list;
  } catch (error) {
    if (isRejected(error)) return describeError(error);
    throw error;
  }
}
