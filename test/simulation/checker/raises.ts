import { canonicalKey, type Amounts } from '../../../functions/domain/quota/charged.ts';
import { grantOf, type Grant, type GrantState } from '../../../functions/domain/quota/grant.ts';
import type { ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import { parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';
import { Gifts } from '../../support/gifts.ts';
import type { Locks, Report } from './locks.ts';
import type { QuotaLedger } from './quota-ledger.ts';

export interface RaisesParts {
  readonly locks: Locks;
  readonly report: Report;
  /** What quotas count of one target pod. */
  readonly target: Amounts;
}

/** Our own writes to quotas, one by one: I2, I4, I5, and the raise's part of I1. */
export class Raises {
  /** When each token was proven, in the order of everything that happened. */
  readonly proofs = new Map<string, number>();
  readonly #locks: Locks;
  readonly #report: Report;
  readonly #target: Amounts;
  /** The most that the VMMRQs gave since the lock was taken. */
  #given = new Gifts();

  constructor({ locks, report, target }: RaisesParts) {
    this.#locks = locks;
    this.#report = report;
    this.#target = target;
  }

  /** A lock was taken: what was given before does not count. */
  begin(vmmrqs: readonly Vmmrq[]): void {
    this.#given = new Gifts();
    this.#given.see(vmmrqs);
  }

  seeGiven(vmmrqs: readonly Vmmrq[]): void {
    this.#given.see(vmmrqs);
  }

  seeOurWrite(ledger: QuotaLedger, before: ResourceQuota, quota: ResourceQuota): void {
    const [had, has] = [grantOf(before), grantOf(quota)];
    const isRaise = has.kind === 'held' && tokenOf(had) !== has.grant.token;
    if (isRaise) this.#seeRaise(ledger, has.grant);
    if (isRaise && had.kind === 'held') this.#report(`I2: ${ledger.name} was raised though it held a grant`);
    for (const key of ledger.changedAgainstWill(before, quota)) {
      if (isRaise && this.#isMore(ledger, quota, key))
        this.#checkRaised(ledger, { token: has.grant.token, before, quota, key });
      else
        this.#report(
          `I4: we set ${key} of ${ledger.name} to ${String(quota.spec.hard?.[key])}, which nobody asked for`,
        );
    }
  }

  #seeRaise(ledger: QuotaLedger, { token, original }: Grant): void {
    this.#checkRight(ledger, token);
    for (const [key, text] of Object.entries(original)) {
      if (text !== ledger.intended.get(key))
        this.#report(`I2: the grant says that ${key} of ${ledger.name} was ${text}`);
    }
  }

  #isMore({ intended }: QuotaLedger, { spec }: ResourceQuota, key: string): boolean {
    return amountOf(spec.hard?.[key]) > amountOf(intended.get(key));
  }

  /** What spec.hard has become, against what everybody but us asked for: whatever the grant says of it. */
  #checkRaised({ name, intended }: QuotaLedger, { token, before, quota, key }: Raised): void {
    const original = amountOf(intended.get(key));
    const more = amountOf(quota.spec.hard?.[key]) - original;
    const { most, fixed } = this.#given.of(canonicalKey(key), original);
    if (more > most) this.#report(`I5: ${key} of ${name} was raised by more than the VMMRQs give`);
    if (more > fixed && more > this.#needed(token, key) + amountOf(before.status?.used?.[key]) - original) {
      this.#report(`I5: ${key} of ${name} was raised by more than is missing, and the VMMRQs say Exact`);
    }
  }

  /** Of the target pods of all whom the lock lets in: who they are has been looked at when it was taken. */
  #needed(token: string, key: string): Amount {
    const uids = new Set(this.#locks.of(token)?.migrations.map(({ uid }) => uid));
    return BigInt(uids.size) * (this.#target.get(canonicalKey(key)) ?? 0n);
  }

  /** Held, of this lock, and proven. */
  #checkRight({ name, uid }: QuotaLedger, token: string): void {
    // Break-glass: whoever takes the lock off by hand takes it from a raise that is under way.
    if (this.#locks.lock?.token !== token && !this.#locks.isBroken(token)) {
      this.#report(`I1: ${name} was raised for ${token}, which does not hold the namespace`);
    }
    if (this.#locks.of(token)?.quotas.some((quota) => quota.uid === uid) !== true) {
      this.#report(`I1: ${name} was raised, and is none of the quotas of ${token}`);
    }
    if (!this.proofs.has(token)) this.#report(`I1: ${name} was raised for ${token} without a proof`);
  }
}

/** A key that a write raises. */
interface Raised {
  readonly token: string;
  readonly before: ResourceQuota;
  readonly quota: ResourceQuota;
  readonly key: string;
}

const amountOf = (text = '0'): Amount => parseQuantity(text);

const tokenOf = (state: GrantState): string | undefined =>
  state.kind === 'held' ? state.grant.token : undefined;
