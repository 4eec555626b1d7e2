import type { NamedReference } from '../../domain/live/forklift.ts';
import { inGroups } from '../../cluster/in-groups.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { SERVICE_ACCOUNTS } from '../../kubernetes/live-resources.ts';
import { getOrUndefined, unlessForbidden } from './get.ts';

/** Whether the requester may know whether there is a ServiceAccount of this name. */
export type MayKnowAccount = (at: Required<NamedReference>) => Promise<boolean>;

interface Accounts {
  readonly namespace: string;
  readonly names: Iterable<string>;
}

/** Reads which service accounts of the namespace are missing. None counts as missing that the requester, or `live`, may not read. */
export async function readMissingAccounts(
  { namespace, names }: Accounts,
  cluster: Reader,
  mayKnow: MayKnowAccount,
): Promise<ReadonlySet<string>> {
  const missing = await inGroups([...new Set(names)], async (name) => {
    if (!(await mayKnow({ namespace, name }))) return [];
    const account = getOrUndefined(cluster.get(SERVICE_ACCOUNTS, { namespace, name }));
    return (await unlessForbidden(account, 'not known')) === undefined ? [name] : [];
  });
  return new Set(missing.flat());
}
