import { isDeepStrictEqual } from 'node:util';
import type { Amounts } from '../../../functions/domain/quota/charged.ts';
import { grantBy, grantOf } from '../../../functions/domain/quota/grant.ts';
import { KUBEVIRT, LABEL } from '../../../functions/domain/names.ts';
import { raiseRefusals } from '../../../functions/domain/verdict/raise-refusal.ts';
import type { Namespace, ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import {
  CLUSTER_VMMRQS,
  MIGRATIONS,
  NAMESPACES,
  NODES,
  PODS,
  RESOURCE_QUOTAS,
  VMIS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { holding } from '../../support/invariants/allowance-history.ts';
import { isOurs } from '../world/guard.ts';
import type { Point } from '../model/request.ts';
import type { Change, Store } from '../model/store.ts';
import { Admissions, isVirtController } from './admissions.ts';
import { Blocked } from './blocked.ts';
import { Locks, type Writing } from './locks.ts';
import { Purposes, type KnownOrigins } from './purposes.ts';
import { QuotaLedger } from './quota-ledger.ts';
import { Raises } from './raises.ts';

export interface CheckerParts {
  /** Changes of objects in other namespaces do not count. */
  readonly namespace: string;
  readonly time: { readonly now: number };
  /** What quotas count of a target pod. */
  readonly target: Amounts;
  readonly origins: KnownOrigins;
}

/**
 * Checks I1, I2 and I4 to I7 (docs/architecture.md#invariants) after every change of the store. It keeps its own record: who wrote
 * what, when each proof was answered, when each admission began. I3 is checked at the end of a run.
 */
export class Checker {
  /** The first invariant violation; undefined: none. */
  violation: string | undefined;
  readonly namespace: string;
  readonly locks: Locks;
  readonly ledgers = new Map<string, QuotaLedger>();
  readonly admissions: Admissions;
  readonly blocked = new Blocked();
  readonly #raises: Raises;
  readonly #store: Store;
  /** The namespace with each of its sets of labels. */
  readonly #versions: Namespace[] = [];
  readonly #purposes: Purposes;
  /** Counts what happens. */
  #timestamp = 0;

  constructor(store: Store, { namespace, time, target, origins }: CheckerParts) {
    this.#store = store;
    this.namespace = namespace;
    const report = (violation: string): void => void (this.violation ??= violation);
    this.locks = new Locks(time, report);
    this.#purposes = new Purposes(origins);
    const wasOutdated = (vmi: string): boolean => this.#purposes.wasOutdated(vmi);
    this.#raises = new Raises({ locks: this.locks, report, target, wasOutdated });
    this.admissions = new Admissions({
      locks: this.locks,
      report,
      proofs: this.#raises.proofs,
      isRaised: (usage) => this.#isRaised(usage),
    });
  }

  see(change: Change, by: Writing): void {
    if (this.#isOwn(change)) this.#see(change, by);
  }

  #see(change: Change, by: Writing): void {
    switch (change.kind) {
      case NAMESPACES.kind:
        this.#seeNamespace(change, by);
        break;
      case RESOURCE_QUOTAS.kind:
        this.#seeQuota(change, by);
        break;
      case PODS.kind:
        this.#seePod(change);
        return;
      case MIGRATIONS.kind:
        this.blocked.see(change, (uid) => this.admissions.isThrough(uid));
        return;
      case VMMRQS.kind:
      case CLUSTER_VMMRQS.kind:
        this.#raises.seeGiven(this.#vmmrqs());
        return;
      case NODES.kind:
      case VMIS.kind:
        this.#purposes.see(change);
        return;
      default:
        return;
    }
    for (const ledger of this.ledgers.values()) this.#checkQuota(ledger);
  }

  #isOwn({ kind, object: { metadata } }: Change): boolean {
    const of = kind === NAMESPACES.kind ? metadata.name : metadata.namespace;
    return of === undefined || of === this.namespace;
  }

  /** The guard refused the proof of this token. */
  proven(token: string): void {
    this.#timestamp += 1;
    if (!this.#raises.proofs.has(token)) this.#raises.proofs.set(token, this.#timestamp);
  }

  /** A request continues from this point. */
  advance({ kind, namespace, name = '', phase, user }: Point): void {
    if (kind !== PODS.kind || namespace !== this.namespace) return;
    this.#timestamp += 1;
    if (phase === 'admit') this.admissions.begin(name, user, this.#timestamp);
    if (phase === 'admit' && isVirtController(user)) this.locks.noteAttempt();
    if (phase === 'charge') this.admissions.charge(name);
  }

  /** The raise of a lock that an admin broke does not count: a next lock may be there before the guard has lowered it. */
  #isRaised(usage: Amounts | undefined): boolean {
    return [...this.ledgers.values()].some(
      (ledger) =>
        !this.locks.isOrphanOfBroken(ledger.quota) &&
        (usage === undefined ? ledger.raisedKeys().length > 0 : ledger.counts(usage)),
    );
  }

  #vmmrqs(): readonly Vmmrq[] {
    const own = this.#store.list<Vmmrq>(VMMRQS.kind, this.namespace);
    return holding([...own, ...this.#store.list<Vmmrq>(CLUSTER_VMMRQS.kind)], this.#versions);
  }

  #seePod(change: Change): void {
    this.admissions.see(change);
    const uid = change.object.metadata.labels?.[KUBEVIRT.migrationJobUID];
    if (uid !== undefined && this.admissions.isThrough(uid)) this.blocked.end(uid, change.revision);
  }

  #seeNamespace({ object }: Change, by: Writing): void {
    const namespace = object as Namespace;
    if (!this.#versions.some((known) => hasSameLabels(known, namespace))) {
      this.#versions.push(namespace);
      this.#raises.seeGiven(this.#vmmrqs());
    }
    const isLockHeld = this.locks.see(namespace, by, (uid) => this.admissions.isThrough(uid));
    if (!isLockHeld) return;
    this.#raises.begin(this.#vmmrqs());
    this.#checkLockedFor();
    this.#checkRaisable(namespace);
    for (const { quota, name } of this.ledgers.values()) {
      if (grantOf(quota).kind !== 'none' && !this.locks.isOrphanOfBroken(quota)) {
        this.violation ??= `I2: locked while ResourceQuota ${name} holds a grant`;
      }
    }
  }

  /** The lock admits only migrations that a quota blocked, each for a purpose that is true of it. */
  #checkLockedFor(): void {
    for (const migration of this.locks.lock?.migrations ?? []) {
      const { name, uid, purpose = '' } = migration;
      if (!this.blocked.wasRefused(uid))
        this.violation ??= `I1: locked for ${name} (${uid}), which no quota kept out`;
      if (!this.#purposes.isTrue(migration))
        this.violation ??= `I5: ${name} counts as ${purpose}, and is not`;
    }
  }

  /** No lock is taken for a quota whose raise is known to be refused. */
  #checkRaisable(namespace: Namespace): void {
    const refusalOf = raiseRefusals({ namespace, now: Infinity });
    for (const { uid } of this.locks.lock?.quotas ?? []) {
      const quota = this.ledgers.get(uid)?.quota;
      if (quota === undefined || refusalOf(quota) === undefined) continue;
      this.violation ??= `I7: locked for ResourceQuota ${quota.metadata.name}, whose raise is refused`;
    }
  }

  #seeQuota({ type, before, object }: Change, { user }: Writing): void {
    const quota = object as ResourceQuota;
    const { uid } = quota.metadata;
    const ledger = this.ledgers.get(uid);
    if (type === 'DELETED') this.ledgers.delete(uid);
    else if (ledger === undefined) this.ledgers.set(uid, new QuotaLedger(quota));
    else if (isOurs(user)) {
      this.#raises.seeOurWrite(ledger, before as ResourceQuota, quota);
      if (grantBy(quota, this.locks.lock?.token ?? '') !== undefined) this.locks.raise();
      ledger.record(quota);
    } else ledger.applyForeign(quota);
  }

  /** After each change of a quota or of the lock. */
  #checkQuota(ledger: QuotaLedger): void {
    const { name, quota } = ledger;
    const [lost] = ledger.lostKeys();
    if (lost !== undefined) this.violation ??= `I2: ${lost} of ${name} is not what its owners asked for`;
    const [raised] = ledger.raisedKeys();
    if (raised !== undefined) this.#checkRaised(quota, `I1: ${raised} of ${name} is enforced raised`);
  }

  #checkRaised(quota: ResourceQuota, what: string): void {
    if (quota.metadata.labels?.[LABEL.raised] !== 'true') this.violation ??= `${what}, without the label`;
    if (this.locks.isFree && !this.locks.isOrphanOfBroken(quota)) {
      this.violation ??= `${what}, and the namespace is not locked`;
    }
  }
}

/** Apart from the lock's own label, which selects nothing. */
const hasSameLabels = (one: Namespace, other: Namespace): boolean => {
  const own = ({ metadata }: Namespace): object => ({ ...metadata.labels, [LABEL.locked]: '' });
  return isDeepStrictEqual(own(one), own(other));
};
