import { canonicalKey } from '../../../functions/domain/quota/charged.ts';
import { grantOf, type Grant } from '../../../functions/domain/quota/grant.ts';
import { lockOf, type Lock } from '../../../functions/domain/lock.ts';
import { ANNOTATION } from '../../../functions/domain/names.ts';
import type { Namespace, ResourceList, ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import type { Amount } from '../../../functions/domain/quantity.ts';
import {
  CLUSTER_VMMRQS,
  NAMESPACES,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { AllowanceHistory, holding } from './allowance-history.ts';
import { heldBy, type Version } from '../tenant/history.ts';

/** The state of one quota at a revision. */
export interface QuotaState {
  readonly quota: ResourceQuota;
  /** The original: the owners' first version, and each of their later edits. */
  readonly wanted: ResourceList;
  /** All amounts to which the project ever raised a key. */
  readonly raisedTo: Readonly<Record<string, readonly string[]>>;
  /** This version raised the quota, for the first time or again after a recount. */
  readonly isNewlyRaised: boolean;
  /** Another user removed grant and label, and is responsible for the enforced amounts since then. */
  readonly isTakenOver: boolean;
}

/** A namespace at one revision, with its past. */
export class ReplayState {
  namespace: Namespace | undefined;
  revision = 0;
  /** By quota uid. */
  readonly quotas = new Map<string, QuotaState>();
  /** Pods of the previous revision, by uid. */
  readonly pods = new Set<string>();
  /** Tokens of locks that ended. */
  readonly ended = new Set<string>();
  /** The token that replaced another one in the namespace's last change. */
  replaced: string | undefined;
  readonly #versions: Namespace[] = [];
  readonly #vmmrqs = new Map<string, Vmmrq>();
  /** The VMMRQs' allowances since the lock was set: a raise may have read any of them. */
  #given = new AllowanceHistory();

  get lock(): Lock | undefined {
    return this.namespace === undefined ? undefined : heldBy(this.namespace);
  }

  /** The lock is unreadable, so the guard admits no pod. */
  get isUnreadable(): boolean {
    return this.namespace !== undefined && lockOf(this.namespace).kind === 'malformed';
  }

  /** The largest allowance of this key since the lock was set, for a quota with this amount. */
  givenOf(key: string, original: Amount): { readonly max: Amount; readonly fixed: Amount } {
    const migrations = this.lock?.migrations ?? [];
    return this.#given.of({ key: canonicalKey(key), hard: original, migrations });
  }

  /** `isForeign`: another user wrote the version. */
  goOn({ kind, object, gone, revision }: Version, isForeign: boolean): void {
    this.revision = revision;
    this.replaced = undefined;
    if (kind === NAMESPACES.kind) this.#setNamespace(gone ? undefined : object);
    else if (kind === VMMRQS.kind || kind === CLUSTER_VMMRQS.kind) this.#setVmmrq(object as Vmmrq, gone);
    else if (kind === RESOURCE_QUOTAS.kind && gone) this.quotas.delete(object.metadata.uid);
    else if (kind === RESOURCE_QUOTAS.kind) this.#setQuota(object as ResourceQuota, isForeign);
  }

  #setNamespace(namespace: Namespace | undefined): void {
    const before = this.lock?.token;
    this.namespace = namespace;
    if (namespace !== undefined) this.#versions.push(namespace);
    const now = this.lock?.token;
    if (before === now) return;
    if (before !== undefined) this.ended.add(before);
    if (before !== undefined && now !== undefined) this.replaced = before;
    this.#given = new AllowanceHistory();
    this.#seeGiven();
  }

  #setVmmrq(vmmrq: Vmmrq, gone: boolean): void {
    if (gone) this.#vmmrqs.delete(vmmrq.metadata.uid);
    else this.#vmmrqs.set(vmmrq.metadata.uid, vmmrq);
    this.#seeGiven();
  }

  #seeGiven(): void {
    this.#given.see(holding([...this.#vmmrqs.values()], this.#versions));
  }

  #setQuota(quota: ResourceQuota, isForeign: boolean): void {
    const { uid } = quota.metadata;
    const before = this.quotas.get(uid);
    const grant = grantIn(quota);
    this.quotas.set(uid, {
      quota,
      wanted: wantedAfter(before, quota, isForeign),
      raisedTo: withRaised(before?.raisedTo ?? {}, grant),
      isTakenOver: grant === undefined && (isForeign || before?.isTakenOver === true),
      isNewlyRaised: !isForeign && grant !== undefined && textOf(quota) !== textOf(before?.quota),
    });
  }
}

const textOf = (quota: ResourceQuota | undefined): string | undefined =>
  quota?.metadata.annotations?.[ANNOTATION.grant];

/** The grant of a quota, if it is readable. */
export function grantIn(quota: ResourceQuota | undefined): Grant | undefined {
  const state = quota === undefined ? undefined : grantOf(quota);
  return state?.kind === 'held' ? state.grant : undefined;
}

function wantedAfter(
  before: QuotaState | undefined,
  { spec: { hard = {} } }: ResourceQuota,
  isForeign: boolean,
): ResourceList {
  if (before === undefined) return hard;
  if (!isForeign) return before.wanted;
  const old = before.quota.spec.hard ?? {};
  const changed = [...new Set([...Object.keys(old), ...Object.keys(hard)])].filter(
    (key) => old[key] !== hard[key],
  );
  const kept = Object.entries(before.wanted).filter(([key]) => !changed.includes(key));
  const edited = changed.flatMap((key) => (hard[key] === undefined ? [] : [[key, hard[key]] as const]));
  return Object.fromEntries([...kept, ...edited]);
}

function withRaised(before: QuotaState['raisedTo'], grant: Grant | undefined): QuotaState['raisedTo'] {
  const more = Object.entries(grant?.raised ?? {}).map(
    ([key, text]) => [key, [...new Set([...(before[key] ?? []), text])]] as const,
  );
  return { ...before, ...Object.fromEntries(more) };
}
