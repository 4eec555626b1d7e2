import { canonicalKey } from '../../../functions/domain/charged.ts';
import { grantOf, type Grant, type GrantState } from '../../../functions/domain/grant.ts';
import type { ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import { parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';
import { Gifts } from '../../gifts.ts';
import type { Locks, Report } from './locks.ts';
import type { QuotaLedger } from './quota-ledger.ts';

/** Our own writes to quotas, one by one: I2, I4, I5, and the raise's part of I1. */
export class Raises {
  /** When each token was proven, in the order of everything that happened. */
  readonly proofs = new Map<string, number>();
  readonly #locks: Locks;
  readonly #report: Report;
  /** The most that the VMMRQs gave since the lock was taken. */
  #given = new Gifts();

  constructor(locks: Locks, report: Report) {
    this.#locks = locks;
    this.#report = report;
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
    if (isRaise) this.#seeRaise(ledger, before, has.grant);
    if (isRaise && had.kind === 'held') this.#report(`I2: ${ledger.name} was raised though it held a grant`);
    for (const key of ledger.changedAgainstWill(before, quota)) {
      if (isRaise && has.grant.raised[key] !== undefined) continue;
      this.#report(
        `I4: we set ${key} of ${ledger.name} to ${String(quota.spec.hard?.[key])}, which nobody asked for`,
      );
    }
  }

  #seeRaise(ledger: QuotaLedger, before: ResourceQuota, { token, original, raised }: Grant): void {
    const { name } = ledger;
    this.#checkRight(ledger, token);
    for (const [key, text] of Object.entries(original)) {
      if (text !== ledger.intended.get(key))
        this.#report(`I2: the grant says that ${key} of ${name} was ${text}`);
      const hard = amountOf(before.spec.hard?.[key]);
      const more = amountOf(raised[key]) - hard;
      const { most, fixed } = this.#given.of(canonicalKey(key), hard);
      if (more > most) this.#report(`I5: ${key} of ${name} was raised by more than the VMMRQs give`);
      if (more > fixed && more > this.#missing(token, before, key)) {
        this.#report(`I5: ${key} of ${name} was raised by more than is missing, and the VMMRQs say Exact`);
      }
    }
  }

  /** By what the lock says that its migrations need, and the quota that was written over had used. */
  #missing(token: string, { metadata, spec, status }: ResourceQuota, key: string): Amount {
    const need = this.#locks.of(token)?.quotas.find(({ uid }) => uid === metadata.uid)?.need;
    return amountOf(status?.used?.[key]) + amountOf(need?.[canonicalKey(key)]) - amountOf(spec.hard?.[key]);
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

const amountOf = (text = '0'): Amount => parseQuantity(text);

const tokenOf = (state: GrantState): string | undefined =>
  state.kind === 'held' ? state.grant.token : undefined;
