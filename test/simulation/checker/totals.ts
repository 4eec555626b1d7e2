import { amountsOf, canonicalKey, type Amounts } from '../../../functions/domain/quota/charged.ts';
import { grantOf } from '../../../functions/domain/quota/grant.ts';
import type { LockedMigration } from '../../../functions/domain/lock.ts';
import type { ClusterVmmrq, Vmmrq } from '../../../functions/domain/objects.ts';
import { formatQuantity, parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';
import {
  CLUSTER_VMMRQS,
  NAMESPACES,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { AllowanceHistory } from '../../support/invariants/allowance-history.ts';
import type { Change, Store } from '../model/store.ts';
import type { Checker } from './checker.ts';
import type { QuotaLedger } from './quota-ledger.ts';

/** The total of a cluster-wide VMMRQ from this moment on; undefined: it has none, or is gone. */
interface Version {
  readonly from: number;
  readonly total: Amounts | undefined;
}

interface SeenLock {
  readonly from: number;
  readonly migrations: readonly LockedMigration[];
  /** What the namespace's own VMMRQs gave at any moment since. */
  readonly own: AllowanceHistory;
}

/** A quota that is raised by the VMMRQ, and by how much at least the VMMRQ gave, by canonical key. */
interface LiveRaise {
  readonly token: string;
  readonly from: number;
  readonly given: ReadonlyMap<string, Amount>;
}

/**
 * I5 over all namespaces: the live raises by a cluster-wide VMMRQ never add more than its total. It looks at status.hard and
 * spec.hard only, never at status.reserved. An edit of the total holds for raises that read it: so the largest total since the
 * newest lock counts, and no raise of a lock that began without a total.
 */
export class Totals {
  violation: string | undefined;
  /** Live raises that shared a total, at the most. */
  shared = 0;
  readonly #store: Store;
  readonly #checkers: readonly Checker[];
  /** By UID of the VMMRQ. */
  readonly #versions = new Map<string, Version[]>();
  readonly #locks = new Map<string, SeenLock>();
  /** Locks whose entries an admin removed by hand. */
  readonly #forgotten = new Set<string>();
  /** Position in the order of all changes. */
  #now = 0;

  constructor(store: Store, checkers: readonly Checker[]) {
    this.#store = store;
    this.#checkers = checkers;
  }

  see(change: Change): void {
    this.#now += 1;
    switch (change.kind) {
      case CLUSTER_VMMRQS.kind:
        this.#seeVmmrq(change);
        return;
      case VMMRQS.kind:
        for (const checker of this.#checkers) this.#seeOwn(checker);
        return;
      case NAMESPACES.kind:
        for (const checker of this.#checkers) this.#seeLock(checker);
        return;
      case RESOURCE_QUOTAS.kind:
        for (const [uid, versions] of this.#versions) this.#check(uid, versions);
        return;
      default:
        return;
    }
  }

  /** An admin has removed the entries of all locks: the raises of these locks do not count. */
  forget(): void {
    for (const token of this.#locks.keys()) this.#forgotten.add(token);
  }

  #seeVmmrq({ type, object }: Change): void {
    const { uid } = object.metadata;
    const { total } = (object as ClusterVmmrq).spec;
    const versions = this.#versions.get(uid) ?? [];
    const is = type === 'DELETED' || total === undefined ? undefined : amountsOf(total);
    this.#versions.set(uid, [...versions, { from: this.#now, total: is }]);
  }

  #seeLock({ namespace, locks: { lock } }: Checker): void {
    if (lock === undefined || this.#locks.has(lock.token)) return;
    const own = new AllowanceHistory();
    own.see(this.#store.list<Vmmrq>(VMMRQS.kind, namespace));
    this.#locks.set(lock.token, { from: this.#now, migrations: lock.migrations, own });
  }

  #seeOwn({ namespace, locks: { lock } }: Checker): void {
    if (lock !== undefined)
      this.#locks.get(lock.token)?.own.see(this.#store.list<Vmmrq>(VMMRQS.kind, namespace));
  }

  #check(uid: string, versions: readonly Version[]): void {
    const raises = this.#checkers.flatMap((checker) =>
      [...checker.ledgers.values()].flatMap((ledger) => this.#raiseOf(ledger, checker, uid) ?? []),
    );
    const keys = new Set(versions.flatMap(({ total }) => [...(total?.keys() ?? [])]));
    for (const key of keys) this.#checkKey(key, versions, raises);
  }

  #raiseOf(ledger: QuotaLedger, { locks }: Checker, uid: string): LiveRaise | undefined {
    const state = grantOf(ledger.quota);
    if (state.kind !== 'held' || !state.grant.vmmrqs.some((vmmrq) => vmmrq.uid === uid)) return undefined;
    const { token } = state.grant;
    const lock = this.#locks.get(token);
    const isCounted = !this.#forgotten.has(token) && !locks.isOrphanOfBroken(ledger.quota);
    if (lock === undefined || !isCounted) return undefined;
    const { own, migrations, from } = lock;
    const given = ledger.raisedKeys().map((spelt): [string, Amount] => {
      const hard = parseQuantity(ledger.quota.spec.hard?.[spelt] ?? '0');
      const key = canonicalKey(spelt);
      const byOthers = own.of({ key, hard, migrations }).max;
      const more = ledger.raisedBy(spelt) - byOthers;
      return [key, more > 0n ? more : 0n];
    });
    return { token, from, given: new Map(given) };
  }

  #checkKey(key: string, versions: readonly Version[], raises: readonly LiveRaise[]): void {
    const totalsSince = (from: number): (Amount | undefined)[] =>
      versions
        .filter((_, index) => (versions[index + 1]?.from ?? Infinity) > from)
        .map(({ total }) => total?.get(key));
    const counted = raises.filter(
      ({ from, given }) => (given.get(key) ?? 0n) > 0n && !totalsSince(from).includes(undefined),
    );
    const sum = counted.reduce((all, { given }) => all + (given.get(key) ?? 0n), 0n);
    const since = Math.max(0, ...counted.map(({ from }) => from));
    const max = totalsSince(since).reduce<Amount>((most, total = 0n) => (total > most ? total : most), 0n);
    this.shared = Math.max(this.shared, counted.length);
    if (counted.length === 0 || sum <= max) return;
    const tokens = counted.map(({ token }) => token).join(', ');
    this.violation ??= `I5: ${tokens} raised ${key} by ${formatQuantity(sum)} together, and the total is ${formatQuantity(max)}`;
  }
}
