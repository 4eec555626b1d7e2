import { expect } from '@jest/globals';
import { ANNOTATION, LOCK_OUTCOME } from '../../../functions/domain/names.ts';
import type { KubernetesObject, ObjectMeta } from '../../../functions/domain/objects.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import type { Lock } from '../../../functions/domain/lock.ts';
import { invariantViolations } from './invariants.ts';
import { readBack, type Tenant } from '../tenant/tenant.ts';

/**
 * Checks that the namespace is as before: every spec.hard is the same byte for byte and enforced. The metadata has nothing new but the last-release of
 * the last lock's quotas (and last-attempt on the namespace, if that attempt failed). The whole history
 * violates no invariant.
 */
export async function expectAsBefore(admin: Cluster, tenant: Tenant, { failed = false } = {}): Promise<void> {
  const attempt = await expectSameObjects(admin, tenant);
  expect(isUnsuccessful(attempt)).toBe(failed);
  expect(invariantViolations(tenant.history)).toEqual([]);
}

/** A quota was charged and no pod was seen: a record for the lock budget, and no failure. */
const isUnsuccessful = (attempt: string | undefined): boolean =>
  attempt !== undefined && !attempt.includes(`"outcome":"${LOCK_OUTCOME.charged}"`);

/** The same without the check of the history; resolves with the namespace's record of the last attempt. */
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

/** The new annotations of this quota. */
function fenced(locks: readonly Lock[], { metadata }: KubernetesObject): Partial<ObjectMeta> {
  const last = locks.findLast(({ quotas }) => quotas.some(({ uid }) => uid === metadata.uid));
  return last === undefined ? {} : { annotations: { [ANNOTATION.lastRelease]: last.token } };
}

/** last-release is the token and the lock's end; other tests check that end. */
function withoutOutcome(quota: KubernetesObject): ReturnType<typeof metadataOf> {
  const { annotations, ...rest } = metadataOf(quota);
  const { [ANNOTATION.lastRelease]: lastRelease, ...others } = annotations;
  const token = lastRelease?.split(' ')[0];
  return {
    ...rest,
    annotations: token === undefined ? others : { ...others, [ANNOTATION.lastRelease]: token },
  };
}

/** Without the fields that every write changes; empty and missing annotations count as equal. */
function metadataOf({
  metadata,
}: KubernetesObject): Partial<ObjectMeta> & { annotations: Record<string, string> } {
  const { resourceVersion: _version, annotations = {}, labels = {}, ...rest } = metadata;
  const { managedFields: _fields, ...kept } = rest as typeof rest & { managedFields?: unknown };
  return { ...kept, annotations, labels };
}
