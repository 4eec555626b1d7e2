import { lockOf, unreadableToken } from '../domain/lock.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { NAMESPACES } from '../kubernetes/resources.ts';
import { ignoreNotFound } from '../kubernetes/errors.ts';

/** The token that the namespace's lock is fenced by, as it is now; undefined: it has no lock. */
export async function readFenceToken(
  name: string,
  cluster: Pick<Cluster, 'get'>,
): Promise<string | undefined> {
  const read = await ignoreNotFound(cluster.get(NAMESPACES, { name }));
  if (read === undefined) return undefined;
  const state = lockOf(read.object);
  if (state.kind === 'held') return state.lock.token;
  return state.kind === 'malformed' ? unreadableToken(read.object) : undefined;
}
