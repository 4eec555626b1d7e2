import { ANNOTATION, LABEL } from '../domain/names.ts';
import type { ResourceList, ResourceQuota } from '../domain/objects.ts';
import { isChargedByPods } from '../domain/quota/charged.ts';
import type { Address, Cluster, ListedType, Read } from '../kubernetes/cluster.ts';
import { RESOURCE_QUOTAS } from '../kubernetes/resources.ts';
import { PARSED, trimmed, type Trimmed } from '../kubernetes/trim.ts';
import { Turns } from '../runtime/turns.ts';
import { inGroups } from './in-groups.ts';
import { NAMED, OBJECT } from './listed.ts';
import { ignoreNotFound } from '../kubernetes/errors.ts';

/*
 * The quotas of a lock, for a process that reads a hundred of them. A usual one is kept whole. Of a large one only what decides is kept,
 * and it is read again for its write: large ones are written one after another (docs/adr/0020).
 */

/** Length of the JSON of a quota. A usual one has 2 to 4 KB, of which most is managedFields. */
const LARGE = 32 * 1024;
/** The API server stores at most 256 KiB of annotations, so ours are never left out: without a grant or fence a quota counts as lowered. */
const METADATA_BYTES = 512 * 1024;
/** Hundreds of amounts of pods' keys. Without a raised key's amounts its lock ends at its time. */
const AMOUNTS_BYTES = 64 * 1024;
/** "":"", of each part. */
const PUNCTUATION = 6;

/** An object's copies by spread have it too, and JSON does not. */
const THIN = Symbol('thin');

export const isThin = (quota: ResourceQuota): boolean => THIN in quota;

const OUR_METADATA = {
  ...NAMED,
  resourceVersion: true,
  labels: { [LABEL.raised]: true },
  annotations: {
    [ANNOTATION.lastRelease]: true,
    [ANNOTATION.skip]: true,
    [ANNOTATION.grant]: true,
    [ANNOTATION.migrations]: true,
  },
} as const;

/** What the decisions about a raised or locked quota depend on: only amounts that pods are charged are ever raised. */
export function thinned(whole: ResourceQuota): Trimmed<ResourceQuota> {
  const about = trimmed<ResourceQuota>(
    { ...OBJECT, metadata: OUR_METADATA, spec: false, status: false },
    whole,
    METADATA_BYTES,
  );
  const amounts = trimmed<ResourceQuota>(
    { ...OBJECT, metadata: NAMED, spec: true, status: { hard: true, used: true } },
    withPodsAmounts(whole),
    AMOUNTS_BYTES,
  );
  const { apiVersion, kind } = RESOURCE_QUOTAS;
  const { metadata } = about.object;
  const object = { [THIN]: true, apiVersion, kind, ...amounts.object, metadata };
  return { object, size: about.size + amounts.size };
}

/** A quota may count many storage classes and kinds of objects, whose keys are sorted before `pods` and `requests.cpu`. */
function withPodsAmounts(whole: ResourceQuota): ResourceQuota {
  const { spec, status } = whole;
  return { ...whole, spec: { ...spec, ...ofPods(spec) }, ...(status && { status: ofPods(status) }) };
}

function ofPods({ hard, used }: NonNullable<ResourceQuota['status']>): NonNullable<ResourceQuota['status']> {
  return { ...(hard && { hard: onlyPodsKeys(hard) }), ...(used && { used: onlyPodsKeys(used) }) };
}

const onlyPodsKeys = (amounts: ResourceList): ResourceList =>
  Object.fromEntries(Object.entries(amounts).filter(([key]) => isChargedByPods(key)));

/** The quota whole, or thin where it is large. */
export function thinIfLarge(whole: ResourceQuota): Trimmed<ResourceQuota> {
  const left = leftAfter(whole, LARGE);
  if (left < 0) return thinned(whole);
  // Items of a list have no kind, and a write needs it.
  const { apiVersion, kind } = RESOURCE_QUOTAS;
  return { object: { ...whole, apiVersion, kind }, size: (LARGE - left) * PARSED };
}

/** How much of `left` is left after the text of this value; negative as soon as it is longer. */
function leftAfter(value: unknown, left: number): number {
  if (typeof value === 'string') return left - value.length;
  if (typeof value !== 'object' || value === null) return left;
  let after = left;
  for (const key of Object.keys(value)) {
    after = leftAfter((value as Record<string, unknown>)[key], after - key.length - PUNCTUATION);
    if (after < 0) break;
  }
  return after;
}

/** Quotas of which each may be written by `writeQuota`. */
export const LISTED_QUOTAS: ListedType<ResourceQuota> = { ...RESOURCE_QUOTAS, trim: thinIfLarge };

/** Reads one quota, which may be written by `writeQuota`. Rejects as `get` does. */
export async function getQuota(cluster: Pick<Cluster, 'get'>, at: Address): Promise<Read<ResourceQuota>> {
  const { object, date } = await cluster.get(RESOURCE_QUOTAS, at);
  return { object: thinIfLarge(object).object, date };
}

/** Reads the quotas of a lock by name and uid: a quota that was deleted or recreated is not the lock's. */
export async function readLockQuotas(
  namespace: string,
  references: readonly { readonly name: string; readonly uid: string }[],
  cluster: Cluster,
): Promise<Read<ResourceQuota>[]> {
  const reads = await inGroups(references, async ({ name, uid }) => {
    const read = await ignoreNotFound(getQuota(cluster, { namespace, name }));
    return read?.object.metadata.uid === uid ? [read] : [];
  });
  return reads.flat();
}

const turns = new Turns();

/** Runs work that holds a large quota whole, one after another. */
export const inTurn = <T>(work: () => Promise<T>): Promise<T> => turns.run(work);

/**
 * PUTs the status of a quota as `change` makes it, if it is still the version that was read: otherwise rejects with a conflict, as
 * `replace` does. A thin one is read whole before.
 */
export async function writeQuota(
  cluster: Pick<Cluster, 'get' | 'replace'>,
  quota: ResourceQuota,
  change: (whole: ResourceQuota) => ResourceQuota,
): Promise<void> {
  const write = async (whole: ResourceQuota): Promise<void> => {
    await cluster.replace(RESOURCE_QUOTAS, change(whole), { subresource: 'status' });
  };
  if (!isThin(quota)) return write(quota);
  const { name, namespace = '', resourceVersion } = quota.metadata;
  return inTurn(async () => {
    const { object } = await cluster.get(RESOURCE_QUOTAS, { namespace, name });
    await write({ ...object, metadata: { ...object.metadata, resourceVersion } });
  });
}
