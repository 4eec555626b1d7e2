import { canonicalKey, sumAmounts } from '../../../functions/domain/charged.ts';
import { grantOf } from '../../../functions/domain/grant.ts';
import { lockOf, type Lock } from '../../../functions/domain/lock.ts';
import { KUBEVIRT, LABEL } from '../../../functions/domain/names.ts';
import type { Namespace, ResourceList, ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import { parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { heldBy, type History, type Version } from './history.ts';

/** A namespace at one revision, and what went before. */
class Moment {
  namespace: Namespace | undefined;
  revision = 0;
  readonly quotas = new Map<string, ResourceQuota>();
  /** By quota uid: spec.hard of the quota's first version. */
  readonly originals = new Map<string, ResourceList>();
  /** Pods that were there before, by uid. */
  readonly pods = new Set<string>();
  /** Tokens that were let go of. */
  readonly ended = new Set<string>();
  readonly #vmmrqs = new Map<string, Vmmrq>();

  /** What the VMMRQs give, by canonical key. */
  get given(): ReadonlyMap<string, Amount> {
    return sumAmounts([...this.#vmmrqs.values()].map(({ spec }) => spec.additionalMigrationResources ?? {}));
  }

  get lock(): Lock | undefined {
    return this.namespace === undefined ? undefined : heldBy(this.namespace);
  }

  /** A lock is there that nobody can read: then the guard lets nobody in at all. */
  get isUnreadable(): boolean {
    return this.namespace !== undefined && lockOf(this.namespace).kind === 'malformed';
  }

  original({ metadata }: ResourceQuota): ResourceList {
    return this.originals.get(metadata.uid) ?? {};
  }

  goOn({ kind, object, gone, revision }: Version): void {
    this.revision = revision;
    if (kind === NAMESPACES.kind) this.#setNamespace(object);
    else if (kind === VMMRQS.kind) this.#vmmrqs.set(object.metadata.uid, object as Vmmrq);
    else if (kind === RESOURCE_QUOTAS.kind) this.#setQuota(object as ResourceQuota, gone);
  }

  #setNamespace(namespace: Namespace): void {
    const before = this.lock?.token;
    this.namespace = namespace;
    if (before !== undefined && before !== this.lock?.token) this.ended.add(before);
  }

  #setQuota(quota: ResourceQuota, gone: boolean): void {
    const { uid } = quota.metadata;
    if (gone) this.quotas.delete(uid);
    else this.quotas.set(uid, quota);
    if (!this.originals.has(uid)) this.originals.set(uid, quota.spec.hard ?? {});
  }
}

/**
 * Every breach of the invariants I1, I2, I5 and I6 (design §4) in a namespace's whole history, revision by revision;
 * empty as it must be. The first version of each quota counts as its original.
 */
export function breaches(history: History): string[] {
  const moment = new Moment();
  return history.versions().flatMap((version) => {
    moment.goOn(version);
    return [...ofLock(moment), ...ofQuotas(moment), ...ofPod(moment, version)];
  });
}

/** Whether anything was ever enforced above its original: what a test of a release must have seen. */
export const wasRaised = (history: History, name?: string): boolean =>
  quotaVersions(history, name).some(({ quota, original }) => risen(quota.status?.hard, original).length > 0);

/** Whether any version's spec.hard was ever above its original: what must never be without a proof. */
export const wasSpecRaised = (history: History, name?: string): boolean =>
  quotaVersions(history, name).some(({ quota, original }) => risen(quota.spec.hard, original).length > 0);

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

function ofLock({ namespace, revision, ended }: Moment): string[] {
  if (namespace === undefined) return [];
  const state = lockOf(namespace);
  const labelled = namespace.metadata.labels?.[LABEL.locked] === 'true';
  const token = state.kind === 'held' ? state.lock.token : undefined;
  return [
    ...(labelled === (state.kind !== 'none')
      ? []
      : [`${revision}: the label and the lock are not there together`]),
    ...(token !== undefined && ended.has(token) ? [`${revision} I6: token ${token} came back`] : []),
  ];
}

function ofQuotas(moment: Moment): string[] {
  return [...moment.quotas.values()].flatMap((quota) => {
    const original = moment.original(quota);
    return [...ofSpec(quota, original, moment), ...ofStatus(quota, original, moment)].map(
      (breach) => `${moment.revision} ${quota.metadata.name} ${breach}`,
    );
  });
}

function ofSpec(quota: ResourceQuota, original: ResourceList, { given }: Moment): string[] {
  const hard = quota.spec.hard ?? {};
  const grant = grantOf(quota);
  const keys = risen(hard, original);
  const more = keys.filter((key) => {
    const granted = parseQuantity(hard[key] ?? '0') - parseQuantity(original[key] ?? '0');
    return granted > (given.get(canonicalKey(key)) ?? 0n);
  });
  const lost = keys.filter((key) => grant.kind !== 'held' || grant.grant.original[key] !== original[key]);
  const sameKeys = Object.keys(hard).toSorted().join() === Object.keys(original).toSorted().join();
  return [
    ...more.map((key) => `I5: ${key}=${hard[key]} is more than ${original[key]} and what is given`),
    ...lost.map((key) => `I2: ${key}=${hard[key]}, and no record of ${original[key]}`),
    ...(sameKeys ? [] : [`has other keys than before: ${Object.keys(hard).join()}`]),
  ];
}

function ofStatus(quota: ResourceQuota, original: ResourceList, { lock, isUnreadable }: Moment): string[] {
  const keys = risen(quota.status?.hard, original);
  if (keys.length === 0) return [];
  const isOfLock = isUnreadable || lock?.quotas.some(({ uid }) => uid === quota.metadata.uid) === true;
  return [
    ...(quota.metadata.labels?.[LABEL.raised] === 'true'
      ? []
      : [`I1: ${keys.join()} is raised without the label`]),
    ...(isOfLock
      ? []
      : [`I1: ${keys.join()} is enforced above the original, and the namespace is not locked for it`]),
  ];
}

/** Nothing is admitted while a quota is raised but the pods of the lock's migrations. */
function ofPod(moment: Moment, { kind, object }: Version): string[] {
  const { uid, name, labels } = object.metadata;
  if (kind !== PODS.kind || moment.pods.has(uid)) return [];
  moment.pods.add(uid);
  const isRaised = [...moment.quotas.values()].some(
    (quota) => risen(quota.status?.hard, moment.original(quota)).length > 0,
  );
  const of = labels?.[KUBEVIRT.migrationJobUID];
  if (!isRaised || moment.lock?.migrations.some((migration) => migration.uid === of) === true) return [];
  return [`${moment.revision} I1: pod ${name} is no migration's of the lock`];
}

/** The keys that are above the original, or new. */
const risen = (hard: ResourceList | undefined, original: ResourceList): string[] =>
  Object.entries(hard ?? {})
    .filter(([key, text]) => parseQuantity(text) > parseQuantity(original[key] ?? '0'))
    .map(([key]) => key);
