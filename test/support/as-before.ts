import { expect } from '@jest/globals';
import { ANNOTATION, LOCK_OUTCOME } from '../../functions/domain/names.ts';
import type { KubernetesObject, ObjectMeta } from '../../functions/domain/objects.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import type { Lock } from '../../functions/domain/lock.ts';
import { invariantViolations } from './invariants.ts';
import { readBack, type Tenant } from './tenant.ts';

/**
 * Reads the namespace back: every spec.hard byte for byte, enforced, nothing new in the metadata but the last-release of
 * the quotas that the last lock was about (and last-attempt on the namespace, where that attempt failed); and nothing in
 * its whole history broke an invariant.
 */
export async function expectAsBefore(admin: Cluster, tenant: Tenant, { failed = false } = {}): Promise<void> {
  const attempt = await expectSameObjects(admin, tenant);
  expect(isUnsuccessful(attempt)).toBe(failed);
  expect(invariantViolations(tenant.history)).toEqual([]);
}

/** Something was charged, and no pod seen: a record for the lock budget, and no failure. */
const isUnsuccessful = (attempt: string | undefined): boolean =>
  attempt !== undefined && !attempt.includes(`"outcome":"${LOCK_OUTCOME.charged}"`);

/** The same without a look at what went on meanwhile; resolves with the last attempt that the namespace remembers. */
export async function expectSameObjects(admin: Cluster, tenant: Tenant): Promise<string | undefined> {
  const { history, before } = tenant;
  const { namespace, quotas } = await readBack(admin, tenant);
  if (namespace === undefined) throw new Error(`${tenant.name} is gone`);
  expect(quotas.map(({ spec }) => JSON.stringify(spec))).toEqual(
    before.quotas.map(({ spec }) => JSON.stringify(spec)),
  );
  expect(quotas.map(({ status }) => status?.hard)).toEqual(before.quotas.map(({ spec }) => spec.hard));
  expect(quotas.map(withoutOutcome)).toEqual(
    before.quotas.map((quota) => ({ ...metadataOf(quota), ...fenced(history.locks(), quota) })),
  );
  const { [ANNOTATION.lastAttempt]: attempt, ...annotations } = metadataOf(namespace).annotations;
  expect({ ...metadataOf(namespace), annotations }).toEqual(metadataOf(before.namespace));
  return attempt;
}

/** The annotations that this quota has more than before. */
function fenced(locks: readonly Lock[], { metadata }: KubernetesObject): Partial<ObjectMeta> {
  const last = locks.findLast(({ quotas }) => quotas.some(({ uid }) => uid === metadata.uid));
  return last === undefined ? {} : { annotations: { [ANNOTATION.lastRelease]: last.token } };
}

/** last-release says the token, and then how the lock ended: that is another test's. */
function withoutOutcome(quota: KubernetesObject): ReturnType<typeof metadataOf> {
  const { annotations, ...rest } = metadataOf(quota);
  const { [ANNOTATION.lastRelease]: lastRelease, ...others } = annotations;
  const token = lastRelease?.split(' ')[0];
  return {
    ...rest,
    annotations: token === undefined ? others : { ...others, [ANNOTATION.lastRelease]: token },
  };
}

/** Without what every write changes, and without the difference between no annotations and none. */
function metadataOf({
  metadata,
}: KubernetesObject): Partial<ObjectMeta> & { annotations: Record<string, string> } {
  const { resourceVersion: _version, annotations = {}, labels = {}, ...rest } = metadata;
  const { managedFields: _fields, ...kept } = rest as typeof rest & { managedFields?: unknown };
  return { ...kept, annotations, labels };
}
