import { fingerprint } from '../fingerprint.ts';
import { cutText } from '../foreign-text.ts';
import { MAX_LOCKED } from '../lock.ts';
import { ANNOTATION, FIELD_MANAGER, LABEL, LOCK_OUTCOME, REASON } from '../names.ts';
import type { Namespace, ResourceQuota } from '../objects.ts';
import { fenceOf } from '../quota/lower.ts';
import { isSame } from '../same.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { lastAttemptOf, type Attempt } from './attempt.ts';

/*
 * A webhook or policy of another party may refuse our write of a quota's status. The namespace's last attempt keeps that, so that it is
 * not locked for such a quota again. Rancher since 2.14.6 refuses it for the quotas that it manages (rancher/webhook#1797).
 */

/** What identifies a quota, and what others choose it by. */
export type TriedQuota = Pick<ResourceQuota, 'metadata'>;

/** A quota, and the API server's refusal of its raise: one line. */
export interface RaiseRefusal {
  readonly quota: TriedQuota;
  readonly message: string;
}

/** Characters of a refusal that are kept. */
const MAX_MESSAGE = 500;

type Place = Pick<NamespaceSnapshot, 'namespace' | 'now'>;

/** What webhooks and policies choose a quota by: when it changes, a refusal is outdated. */
const selectedBy = (quota: TriedQuota, namespace: Namespace): string =>
  fingerprint([quota, namespace].map(labelsOf).join('\n'));

const OWN: readonly string[] = Object.values(LABEL);

const labelsOf = ({ metadata: { labels = {} } }: TriedQuota): string =>
  JSON.stringify(
    Object.entries(labels)
      .filter(([key]) => !OWN.includes(key))
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );

const refusedIn = ({ namespace, now }: Place): NonNullable<Attempt['refused']> =>
  lastAttemptOf(namespace, now)?.refused ?? [];

/** The refusal of a quota's last raise; undefined: there is none, or it is outdated. */
export function raiseRefusals(place: Place): (quota: ResourceQuota) => string | undefined {
  const refused = new Map(refusedIn(place).map((each) => [each.uid, each]));
  return (quota) => {
    const known = refused.get(quota.metadata.uid);
    return known?.of === selectedBy(quota, place.namespace) ? known.message : undefined;
  };
}

/** Outcomes of a lock that had raised its quotas. */
const RAISED: readonly string[] = [LOCK_OUTCOME.admitted, LOCK_OUTCOME.charged];

/** Whether a raise of a quota was admitted, and only its status has changed since. */
export function triedRaises(place: Place): (quota: ResourceQuota) => boolean {
  const refused = new Set(refusedIn(place).map(({ uid }) => uid));
  return (quota) =>
    RAISED.includes(fenceOf(quota)?.outcome ?? '') &&
    !refused.has(quota.metadata.uid) &&
    !isEditedSince(quota);
}

/** Whether another manager has set a field, such as a label, after our last write. managedFields counts whole seconds. */
function isEditedSince({ metadata: { managedFields = [] } }: ResourceQuota): boolean {
  const timesOf = (entries: typeof managedFields): number[] =>
    entries.map(({ time = '' }) => Date.parse(time)).filter((time) => !Number.isNaN(time));
  const ours = timesOf(managedFields.filter(({ manager }) => manager === FIELD_MANAGER));
  const others = timesOf(
    managedFields.filter(({ manager, subresource }) => manager !== FIELD_MANAGER && subresource !== 'status'),
  );
  return ours.length > 0 && Math.max(...others) > Math.max(...ours);
}

/** Quotas whose raise was tried, and the refusals among them. */
export interface TriedRaises {
  readonly tried: readonly TriedQuota[];
  readonly refused: readonly RaiseRefusal[];
}

/**
 * The namespace with what the last raises of these quotas have shown; the same object where that is known already. When no refusal
 * is left, the back-off that one caused is over too.
 */
export function withRefusals(namespace: Namespace, { tried, refused }: TriedRaises, now: number): Namespace {
  const last = lastAttemptOf(namespace, now);
  const before = last?.refused ?? [];
  const known = new Set(tried.map(({ metadata }) => metadata.uid));
  const next = [
    ...refused.map(({ quota, message }) => ({
      uid: quota.metadata.uid,
      of: selectedBy(quota, namespace),
      message: cutText(message, MAX_MESSAGE),
    })),
    ...before.filter(({ uid }) => !known.has(uid)),
  ].slice(0, MAX_LOCKED);
  if (isSame(next, before)) return namespace;
  return withAttempt(
    namespace,
    next.length === 0 ? withoutRefusals(last) : { ...(last ?? first(now)), refused: next },
  );
}

/** The record where no attempt has been made: it causes no back-off. */
const first = (now: number): Attempt => ({
  at: new Date(now).toISOString(),
  failures: 0,
  locked: [],
  reason: REASON.refusedByPolicy,
  outcome: LOCK_OUTCOME.failed,
  of: '',
});

function withoutRefusals(last: Attempt | undefined): Attempt | undefined {
  if (last === undefined) return undefined;
  const { refused: _, ...rest } = last;
  if (last.reason !== REASON.refusedByPolicy) return rest;
  return last.locked.length === 0 ? undefined : { ...rest, failures: 0 };
}

function withAttempt(namespace: Namespace, attempt: Attempt | undefined): Namespace {
  const { [ANNOTATION.lastAttempt]: _, ...annotations } = namespace.metadata.annotations ?? {};
  const record = attempt === undefined ? {} : { [ANNOTATION.lastAttempt]: JSON.stringify(attempt) };
  return { ...namespace, metadata: { ...namespace.metadata, annotations: { ...annotations, ...record } } };
}
