import { tryRaise } from '../../functions/cluster/try-raise.ts';
import { LOCK_VERSION, withLock } from '../../functions/domain/lock.ts';
import { REASON, SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { Namespace } from '../../functions/domain/objects.ts';
import { withRefusals, type RaiseRefusal } from '../../functions/domain/verdict/raise-refusal.ts';
import {
  ignoreNotFound,
  isConflict,
  isNotFound,
  isRejected,
  refusalOf,
} from '../../functions/kubernetes/errors.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { mapAtMost } from '../cluster/map-at-most.ts';
import { asAccount } from '../cluster/rights.ts';
import type { Session } from '../cluster/session.ts';
import type { ClusterFacts, NamespaceFacts } from './facts.ts';
import type { Report } from './preflight.ts';

/** Namespaces that are tried at once. */
const AT_ONCE = 8;

/**
 * The facts, with what webhooks and policies of others would refuse: where a VM needs a raise, lock and raise are tried by dry runs as
 * our accounts. A user who may not impersonate these gets what the functions have recorded.
 */
export async function withTriedRaises(
  facts: ClusterFacts,
  { vms }: Report,
  session: Pick<Session, 'cluster' | 'as'>,
): Promise<ClusterFacts> {
  const needed = new Set(vms.filter(needsRaise).map(({ namespace }) => namespace));
  if (needed.size === 0) return facts;
  const as = await writersOf(session);
  if (as === undefined) return { ...facts, isUntried: true };
  const namespaces = await mapAtMost(AT_ONCE, facts.namespaces, async (each) =>
    needed.has(each.namespace.metadata.name) ? tried(each, facts.now, as) : each,
  );
  return { ...facts, namespaces };
}

/** Whether it passes by a VMMRQ, or is refused by the record of an earlier raise, which may be outdated. */
const needsRaise = ({ by, reason }: Report['vms'][number]): boolean =>
  by.length > 0 || reason === REASON.refusedByPolicy;

interface Writers {
  readonly lock: ApiServer;
  readonly raise: ApiServer;
}

/** The API server as our accounts; undefined: the user may not impersonate them. */
async function writersOf(session: Pick<Session, 'cluster' | 'as'>): Promise<Writers | undefined> {
  const [lock, raise] = await Promise.all(
    [SERVICE_ACCOUNT.lock, SERVICE_ACCOUNT.raise].map((name) =>
      asAccount(session, { namespace: SYSTEM_NAMESPACE, name }),
    ),
  );
  return lock === undefined || raise === undefined ? undefined : { lock, raise };
}

/** The namespace as the functions would find it once they have tried the raises of its quotas. */
async function tried(facts: NamespaceFacts, now: number, as: Writers): Promise<NamespaceFacts> {
  const { namespace, quotas, vmmrqs } = facts;
  const { name } = namespace.metadata;
  const lockRefusal = await refusalOfLock(name, now, as.lock);
  const refused: RaiseRefusal[] = [];
  for (const quota of quotas) {
    const at = { namespace: name, name: quota.metadata.name };
    const message = lockRefusal ?? (await tryRaise(as.raise, at, { vmmrqs, now }))?.message;
    if (message !== undefined) refused.push({ quota, message });
  }
  return { ...facts, namespace: withRefusals(namespace, { tried: quotas, refused }, now) };
}

/** Why the API server would refuse the lock; undefined: it would not, or the namespace is gone. */
async function refusalOfLock(name: string, now: number, cluster: ApiServer): Promise<string | undefined> {
  const read = await ignoreNotFound(cluster.get(NAMESPACES, { name }));
  if (read === undefined) return undefined;
  try {
    await cluster.replace(NAMESPACES, locked(read.object, now), { dryRun: true });
    return undefined;
  } catch (error) {
    // It changed meanwhile, or is gone.
    if (isConflict(error) || isNotFound(error)) return undefined;
    if (isRejected(error)) return refusalOf('the lock of the namespace', error);
    throw error;
  }
}

function locked(namespace: Namespace, now: number): Namespace {
  const at = new Date(now).toISOString();
  const lock = { v: LOCK_VERSION, token: 'dry-run', acquiredAt: at, expiresAt: at };
  return withLock(namespace, { ...lock, migrations: [], quotas: [], vmmrqs: [], of: '' });
}
