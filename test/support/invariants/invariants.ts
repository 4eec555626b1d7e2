import { lockOf, podIdentity, podIdentityOf } from '../../../functions/domain/lock.ts';
import { LABEL } from '../../../functions/domain/names.ts';
import type { ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { parseQuantity, sameQuantity } from '../../../functions/domain/quantity.ts';
import { PODS } from '../../../functions/kubernetes/resources.ts';
import { lockedTooLong } from './failed-locks.ts';
import type { History, Version } from '../tenant/history.ts';
import { grantIn, ReplayState, type QuotaState } from './replay-state.ts';

/**
 * Every violation of I1, I2 and I4 to I7 (docs/architecture.md#invariants) in a namespace's whole history, revision by
 * revision; it must be empty. The first version of each quota counts as its original, and so does every edit that
 * History.noteForeign has recorded.
 */
export function invariantViolations(history: Pick<History, 'versions' | 'isForeign'>): string[] {
  const replayState = new ReplayState();
  const versions = history.versions();
  const found = versions.flatMap((version) => {
    replayState.goOn(version, history.isForeign(version));
    return [...ofLock(replayState), ...ofQuotas(replayState), ...ofPod(replayState, version)];
  });
  return [...found, ...lockedTooLong(versions)];
}

/** Whether any key was ever enforced above its original, which a test of a cycle must have seen. */
export const wasRaised = (history: History, name?: string): boolean =>
  quotaVersions(history, name).some(({ quota, original }) => risen(quota.status?.hard, original).length > 0);

function quotaVersions(
  history: History,
  name: string | undefined,
): { quota: ResourceQuota; original: ResourceList }[] {
  const quotas = history
    .versions()
    .filter(
      ({ kind, object }) =>
        kind === 'ResourceQuota' && (name ?? object.metadata.name) === object.metadata.name,
    )
    .map(({ object }) => object as ResourceQuota);
  return quotas.map((quota) => {
    const first = quotas.find(({ metadata }) => metadata.uid === quota.metadata.uid);
    return { quota, original: first?.spec.hard ?? {} };
  });
}

function ofLock({ namespace, lock, revision, ended, replaced }: ReplayState): string[] {
  if (namespace === undefined) return [];
  const isLabelled = namespace.metadata.labels?.[LABEL.locked] === 'true';
  return [
    ...(isLabelled === (lockOf(namespace).kind !== 'none')
      ? []
      : [`${revision}: the label and the lock are not there together`]),
    ...(lock !== undefined && ended.has(lock.token) ? [`${revision} I6: token ${lock.token} came back`] : []),
    ...(replaced === undefined
      ? []
      : [`${revision} I6: the lock ${replaced} was replaced, not cleared first`]),
  ];
}

function ofQuotas(replayState: ReplayState): string[] {
  return [...replayState.quotas.values()].flatMap((state) =>
    [...ofSpec(state), ...ofUsed(state), ...ofGrant(state, replayState), ...ofStatus(state, replayState)].map(
      (violation) => `${replayState.revision} ${state.quota.metadata.name} ${violation}`,
    ),
  );
}

/** Each key equals its original byte for byte: no process of the project writes spec.hard. */
function ofSpec({ quota, wanted }: QuotaState): string[] {
  const hard = quota.spec.hard ?? {};
  return [...new Set([...Object.keys(wanted), ...Object.keys(hard)])].flatMap((key) =>
    hard[key] === wanted[key] ? [] : [`I2, I4: ${key}=${hard[key]}, its owners want ${wanted[key]}`],
  );
}

/** A raised quota keeps status.used: without it the API server refuses every pod. */
function ofUsed({ quota }: QuotaState): string[] {
  const raised = Object.keys(grantIn(quota)?.raised ?? {});
  return raised
    .filter((key) => quota.spec.hard?.[key] !== undefined && quota.status?.used?.[key] === undefined)
    .map((key) => `I2: what is used of ${key} is lost`);
}

/** A raise never exceeds the VMMRQs' allowance. */
function ofGrant({ quota, isNewlyRaised }: QuotaState, replayState: ReplayState): string[] {
  const { raised = {} } = (isNewlyRaised ? grantIn(quota) : undefined) ?? {};
  return Object.entries(raised).flatMap(([key, text]) => {
    const hard = parseQuantity(quota.spec.hard?.[key] ?? '0');
    const granted = parseQuantity(text) - hard;
    return granted > replayState.givenOf(key, hard).max
      ? [`I5: ${key}=${text} is more than ${quota.spec.hard?.[key]} and what is given`]
      : [];
  });
}

function ofStatus(state: QuotaState, replayState: ReplayState): string[] {
  const keys = enforcedAbove(state).join();
  if (keys === '' || state.isTakenOver) return [];
  return [
    ...(state.quota.metadata.labels?.[LABEL.raised] === 'true'
      ? []
      : [`I1: ${keys} is raised without the label`]),
    ...(isLockedFor(state, replayState)
      ? []
      : [`I1: ${keys} is enforced above the original, and the namespace is not locked for it`]),
  ];
}

function isLockedFor({ quota }: QuotaState, { lock, isUnreadable }: ReplayState): boolean {
  if (lock === undefined) return isUnreadable;
  // A user's copy of a raised quota is another quota, but also raised for the lock.
  const isCopy = grantIn(quota)?.token === lock.token;
  return isCopy || lock.quotas.some(({ uid }) => uid === quota.metadata.uid);
}

/** The keys that are enforced at a raised amount, above their original. (An original that its owner has just lowered is no raise.) */
function enforcedAbove({ quota, wanted, raisedTo }: QuotaState): string[] {
  return risen(quota.status?.hard, wanted).filter((key) =>
    raisedTo[key]?.some((amount) => sameQuantity(amount, quota.status?.hard?.[key] ?? '0')),
  );
}

/** While a quota is raised, only pods of the lock's migrations are admitted. */
function ofPod(replayState: ReplayState, { kind, object }: Version): string[] {
  const { uid, name } = object.metadata;
  if (kind !== PODS.kind || replayState.pods.has(uid)) return [];
  replayState.pods.add(uid);
  const isRaised = [...replayState.quotas.values()].some((state) => enforcedAbove(state).length > 0);
  const identity = podIdentityOf(object);
  const isOfLock = replayState.lock?.migrations.some((migration) => podIdentity(migration) === identity);
  if (!isRaised || isOfLock === true) return [];
  return [`${replayState.revision} I1: pod ${name} is no migration's of the lock`];
}

/** The keys that are above the original, or new. */
const risen = (hard: ResourceList | undefined, original: ResourceList): string[] =>
  Object.entries(hard ?? {})
    .filter(([key, text]) => parseQuantity(text) > parseQuantity(original[key] ?? '0'))
    .map(([key]) => key);
