import type { StepRequest } from '../eventing/step-request.ts';
import type { Grant } from '../domain/quota/grant.ts';
import { isCharged } from '../domain/quota/raise.ts';
import { lockOf, LOCK_VERSION, type LockedMigration, type Lock, type LockState } from '../domain/lock.ts';
import { allAdmitted } from '../domain/migration.ts';
import { EVENT, KIND, LABEL } from '../domain/names.ts';
import type { Migration, Pod, ResourceQuota } from '../domain/objects.ts';
import { readControllerLease } from '../cluster/controller-lease.ts';
import { inGroups } from '../cluster/in-groups.ts';
import { LISTED_MIGRATIONS } from '../cluster/listed.ts';
import { getQuota, LISTED_QUOTAS, readLockQuotas } from '../cluster/quotas.ts';
import { readPodRejections, readTargets } from '../cluster/snapshot.ts';
import { ApiError, describeError, ignoreNotFound, TooMuch, Unreachable } from '../kubernetes/errors.ts';
import { fromWatchCache } from '../kubernetes/cluster.ts';
import { MIGRATIONS, NAMESPACES } from '../kubernetes/resources.ts';
import type { StepContext } from '../host/step.ts';
import { isLockOver, isStallOver, type LowerSnapshot } from './decide.ts';
import { grantShownBy, identitiesOf, type SeenSnapshot } from './decide-seen.ts';

/** The quotas and pods of a lock, as read. */
export interface LockObjects {
  readonly quotas: readonly ResourceQuota[];
  /** The pods; undefined if the list failed. */
  readonly targets: readonly Pod[] | undefined;
  /** The API server's clock, milliseconds. */
  readonly now: number;
}

/**
 * Reads the quotas that the event names, the other quotas of their grant's lock, and its pods. undefined: they do not show
 * enough, read the namespace. 'over': they hold no grant any more.
 */
export async function readSeen(
  request: StepRequest,
  context: StepContext,
): Promise<SeenSnapshot | 'over' | undefined> {
  const names = namesIn(request);
  if (names === undefined) return undefined;
  const { namespace } = request;
  const { cluster } = context;
  const [first = '', ...others] = names;
  const read = await ignoreNotFound(getQuota(cluster, { namespace, name: first }));
  if (read === undefined) return undefined;
  const grant = grantShownBy(read.object);
  const isOpen = read.object.metadata.labels?.[LABEL.raised] !== undefined;
  if (grant === undefined) return isOpen || others.length > 0 ? undefined : 'over';
  if (request.token !== undefined && request.token !== grant.token) return undefined;
  const more = grant.quotas.filter(({ uid }) => uid !== read.object.metadata.uid);
  const [rest, targets] = await Promise.all([
    readQuotas(namespace, more, context),
    readTargets(fromWatchCache(cluster), namespace, podsToLookFor(request, read.object, grant)),
  ]);
  return { grant, quotas: [read.object, ...rest], targets: targets.items, now: read.date.getTime() };
}

/** The pods of the quotas' migrations, by a quorum read; undefined: the list failed. */
export async function readStoredTargets(
  namespace: string,
  { quotas }: Pick<SeenSnapshot, 'quotas'>,
  context: StepContext,
): Promise<readonly Pod[] | undefined> {
  const migrations = [...new Set(quotas.flatMap(identitiesOf))].map(migrationOf);
  const targets = readTargets(context.cluster, namespace, migrations).then(({ items }) => items);
  return orFallback(targets, undefined, context);
}

/** Names of the quotas that the event is about, where these may show enough. */
function namesIn({ type, kind, eventObject, quotas }: StepRequest): readonly string[] | undefined {
  if (kind === KIND.quota.kind) {
    const name = eventObject?.kind === KIND.quota.kind ? eventObject.metadata.name : undefined;
    return name === undefined ? undefined : [name];
  }
  return type === EVENT.quotaRaised && quotas !== undefined && quotas.length > 0 ? quotas : undefined;
}

/** The pods to look for. Right after the raise `used` shows whether they can be there. When it rises, the quota's own event follows. */
const podsToLookFor = (
  { type }: StepRequest,
  quota: ResourceQuota,
  grant: Grant,
): readonly { readonly uid: string }[] =>
  type !== EVENT.quotaRaised || isCharged(quota, grant) ? identitiesOf(quota).map(migrationOf) : [];

const migrationOf = (identity: string): { uid: string } => ({ uid: identity.split('/')[0] ?? '' });

const readQuotas = async (
  namespace: string,
  references: readonly { readonly name: string; readonly uid: string }[],
  { cluster }: StepContext,
): Promise<ResourceQuota[]> =>
  (await readLockQuotas(namespace, references, cluster)).map(({ object }) => object);

/** Reads every quota: no lock names its quotas. */
async function readAllQuotas(namespace: string, { cluster }: StepContext): Promise<ResourceQuota[]> {
  return (await cluster.list(LISTED_QUOTAS, { namespace })).items;
}

/** Reads the namespace before its quotas. undefined: that one read shows that there is nothing to do. */
export async function readLocked(
  request: StepRequest,
  context: StepContext,
): Promise<LowerSnapshot | undefined> {
  const { cluster, settings } = context;
  const { namespace: name, overdueToken } = request;
  const read = await ignoreNotFound(cluster.get(NAMESPACES, { name }));
  if (read === undefined) return undefined;
  const state = lockOf(read.object);
  const base = {
    now: read.date.getTime(),
    namespace: read.object,
    stallSeconds: settings.STALL_SECONDS,
    overdueToken,
  };
  if (state.kind !== 'held') {
    if (state.kind === 'none' && !mayHoldGrants(request)) return undefined;
    const quotas = await readAllQuotas(name, context);
    return { ...base, quotas, migrations: [], targets: [], rejections: undefined };
  }
  return isAbout(request, state.lock)
    ? { ...base, ...(await readLockObjects(state, { ...base, type: request.type }, context)) }
    : undefined;
}

type LockReads = Pick<
  LowerSnapshot,
  'quotas' | 'targets' | 'migrations' | 'rejections' | 'lease' | 'watchedMs' | 'slotless'
>;

/** Reads the objects of a readable lock. */
async function readLockObjects(
  state: LockState & { readonly kind: 'held' },
  base: Pick<LowerSnapshot, 'now' | 'overdueToken' | 'namespace' | 'stallSeconds'> &
    Pick<StepRequest, 'type'>,
  context: StepContext,
): Promise<LockReads> {
  const { lock } = state;
  const { name } = base.namespace.metadata;
  const isDue = isLockOver(state, base);
  const pods = readTargets(context.cluster, name, lock.migrations).then(({ items }) => items);
  const [quotas, targets] = await Promise.all([
    lock.v === LOCK_VERSION ? readQuotas(name, lock.quotas, context) : readAllQuotas(name, context),
    isDue ? orFallback(pods, undefined, context) : pods,
  ]);
  // Once every pod is admitted, or the lock is over, the migrations' state does not matter.
  if (isDue || allAdmitted(lock.migrations, targets ?? [])) {
    return { quotas, targets, migrations: [], rejections: undefined };
  }
  // lock.expired only reports that a lock is past its time. The guard also handles it, and may not read these.
  if (base.type === EVENT.lockExpired)
    return { quotas, targets, migrations: undefined, rejections: undefined };
  const [migrations, seen, tries] = await Promise.all([
    readMigrations(name, lock.migrations, context),
    seenByGuard(name, lock.token, context),
    isStallOver({ ...base, quotas }, lock) ? readTries(name, context) : NOT_READ,
  ]);
  return { quotas, targets, migrations, ...seen, ...tries };
}

/** The guard's stopwatch for this lock, and whether it sees migration slots. */
async function seenByGuard(
  namespace: string,
  token: string,
  { view: viewOf }: StepContext,
): Promise<Pick<LowerSnapshot, 'watchedMs' | 'slotless'>> {
  const view = await viewOf(namespace);
  const watchedMs = view?.lock?.token === token ? view.lock.watchedMs : undefined;
  return { watchedMs, slotless: view?.open.slotless };
}

const NOT_READ = { rejections: undefined };

/** Reads what shows whether KubeVirt tried the pods of the lock, and could. */
async function readTries(
  namespace: string,
  context: StepContext,
): Promise<Pick<LowerSnapshot, 'rejections' | 'lease'>> {
  const { cluster, settings } = context;
  const [rejections, lease] = await Promise.all([
    orFallback(readPodRejections(cluster, namespace), undefined, context),
    orFallback(readControllerLease(cluster, settings.KUBEVIRT_NAMESPACE), undefined, context),
  ]);
  return { rejections, lease };
}

/** An unlocked namespace may still have a quota with a grant, of a lock that a user removed by hand. */
const mayHoldGrants = ({ type, kind }: StepRequest): boolean =>
  type === EVENT.lockExpired || kind === KIND.quota.kind;

/** Whether the request can be about this lock: not with another token, and not the end of another lock's migration. */
function isAbout({ token, kind, eventObject, type }: StepRequest, lock: Lock): boolean {
  if (token !== undefined && token !== lock.token && type !== EVENT.lockExpired) return false;
  if (kind !== KIND.migration.kind || eventObject?.kind !== KIND.migration.kind) return true;
  return lock.migrations.some(({ uid }) => uid === eventObject.metadata.uid);
}

/** The lock's migrations that still exist, trimmed as in lists; undefined: unknown (half of our roles applied, say). */
async function readMigrations(
  namespace: string,
  migrations: readonly LockedMigration[],
  context: StepContext,
): Promise<readonly Migration[] | undefined> {
  const reads = inGroups(migrations, async ({ name, uid }): Promise<readonly Migration[]> => {
    const read = await ignoreNotFound(context.cluster.get(MIGRATIONS, { namespace, name }));
    const kept = read?.object.metadata.uid === uid ? LISTED_MIGRATIONS.trim(read.object) : undefined;
    return kept === undefined ? [] : [kept.object];
  });
  return orFallback(
    reads.then((found) => found.flat()),
    undefined,
    context,
  );
}

/** A read that only explains the result must not prevent a repair. */
async function orFallback<T, U>(
  read: Promise<T>,
  otherwise: U,
  { log }: Pick<StepContext, 'log'>,
): Promise<T | U> {
  try {
    return await read;
  } catch (error) {
    if (![ApiError, Unreachable, TooMuch].some((kind) => error instanceof kind)) throw error;
    log('warn', `an optional read failed, going on without it: ${describeError(error)}`);
    return otherwise;
  }
}
