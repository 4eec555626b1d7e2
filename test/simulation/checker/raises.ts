import { isDeepStrictEqual } from 'node:util';
import { canonicalKey, type Amounts } from '../../../functions/domain/quota/charged.ts';
import { grantOf, type Grant } from '../../../functions/domain/quota/grant.ts';
import { ANNOTATION, LABEL } from '../../../functions/domain/names.ts';
import type { ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import { parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';
import { AllowanceHistory } from '../../support/invariants/allowance-history.ts';
import type { Locks, Report } from './locks.ts';
import type { QuotaLedger } from './quota-ledger.ts';

export interface RaisesParts {
  readonly locks: Locks;
  readonly report: Report;
  /** The amounts that quotas count for one target pod. */
  readonly target: Amounts;
  /** Whether the VMI of this UID ever had an outdated launcher. */
  readonly wasOutdated: (vmi: string) => boolean;
}

/** How much more memory the functions take a newer launcher to need (facts/kubevirt.md §2.1). */
const MARGIN = parseQuantity('64Mi');

/** Checks each write of the project's processes to a quota: I2, I4, I5, and the raise's part of I1. */
export class Raises {
  /** Position of each token's proof in the order of all steps of the run. */
  readonly proofs = new Map<string, number>();
  readonly #locks: Locks;
  readonly #report: Report;
  readonly #target: Amounts;
  readonly #wasOutdated: RaisesParts['wasOutdated'];
  /** The largest allowance of the VMMRQs since the lock was set. */
  #given = new AllowanceHistory();

  constructor({ locks, report, target, wasOutdated }: RaisesParts) {
    this.#locks = locks;
    this.#report = report;
    this.#target = target;
    this.#wasOutdated = wasOutdated;
  }

  /** A lock was set: earlier allowances do not count. */
  begin(vmmrqs: readonly Vmmrq[]): void {
    this.#given = new AllowanceHistory();
    this.#given.see(vmmrqs);
  }

  seeGiven(vmmrqs: readonly Vmmrq[]): void {
    this.#given.see(vmmrqs);
  }

  seeOurWrite(ledger: QuotaLedger, before: ResourceQuota, quota: ResourceQuota): void {
    this.#checkUntouched(ledger, before, quota);
    const has = grantOf(quota);
    const isRaise = has.kind === 'held' && grantText(before) !== grantText(quota);
    if (isRaise) this.#seeRaise(ledger, has.grant, { before, quota });
    else if (rises(before, quota)) this.#report(`I1: we raised ${ledger.name} without another grant`);
  }

  /** A write changes neither spec nor status.used, and a status.hard above the spec needs label and grant. */
  #checkUntouched({ name }: QuotaLedger, before: ResourceQuota, quota: ResourceQuota): void {
    if (!isSame(before.spec, quota.spec)) this.#report(`I2: we changed the spec of ${name}`);
    if (!isSame(before.status?.used, quota.status?.used))
      this.#report(`I2: we changed what ${name} has used`);
    if (keysAbove(quota).length === 0 || isMarked(quota)) return;
    // A status.hard that the quota controller has not yet lowered to a new spec is no raise.
    if (grantOf(before).kind !== 'none' || !isSame(hardOf(before), hardOf(quota)))
      this.#report(`I2: we left ${name} raised, without label and grant`);
  }

  #seeRaise(ledger: QuotaLedger, grant: Grant, write: Write): void {
    const had = grantOf(write.before);
    const isAgain = had.kind === 'held' && had.grant.token === grant.token;
    if (had.kind !== 'none' && !isAgain) this.#report(`I2: ${ledger.name} was raised though it held a grant`);
    this.#checkRight(ledger, grant.token);
    for (const key of Object.keys(grant.raised)) {
      if (isAgain) this.#checkRaisedAgain(ledger, had.grant, { ...write, key });
      else this.#checkRaised(ledger, grant.token, { ...write, key });
    }
  }

  /** A raise exceeds neither the earlier raise nor the current allowance. */
  #checkRaisedAgain({ name }: QuotaLedger, had: Grant, { quota, key }: Raised): void {
    const { max, more } = this.#amounts(quota, had.token, key);
    if (more > max) this.#report(`I5: ${key} of ${name} was raised again by more than the VMMRQs give`);
    if (amountOf(quota.status?.hard?.[key]) > amountOf(had.raised[key])) {
      this.#report(`I5: ${key} of ${name} was raised again, higher than before`);
    }
  }

  /** Compares status.hard with spec.hard, whatever the grant says. */
  #checkRaised({ name }: QuotaLedger, token: string, { before, quota, key }: Raised): void {
    const { max, fixed, more, original } = this.#amounts(quota, token, key);
    if (more > max) this.#report(`I5: ${key} of ${name} was raised by more than the VMMRQs give`);
    if (more > fixed && more > this.#needed(token, key) + amountOf(before.status?.used?.[key]) - original) {
      this.#report(`I5: ${key} of ${name} was raised by more than is missing, and the VMMRQs say Exact`);
    }
  }

  #amounts(quota: ResourceQuota, token: string, key: string): Amounts4 {
    const original = amountOf(quota.spec.hard?.[key]);
    const migrations = this.#locks.of(token)?.migrations ?? [];
    const { max, fixed } = this.#given.of({ key: canonicalKey(key), hard: original, migrations });
    return { max, fixed, original, more: amountOf(quota.status?.hard?.[key]) - original };
  }

  /** The target pods of all migrations of the lock, which the checker verified when the lock was set. */
  #needed(token: string, key: string): Amount {
    const canonical = canonicalKey(key);
    const migrations = new Map(this.#locks.of(token)?.migrations.map((each) => [each.uid, each]));
    const outdated = [...migrations.values()].filter(({ vmi }) => this.#wasOutdated(vmi)).length;
    const margin = canonical === 'requests.memory' ? BigInt(outdated) * MARGIN : 0n;
    return BigInt(migrations.size) * (this.#target.get(canonical) ?? 0n) + margin;
  }

  /** The grant names the current lock, and that lock is proven. */
  #checkRight({ name, uid }: QuotaLedger, token: string): void {
    // Break-glass: an admin may remove the lock while a raise is under way.
    if (this.#locks.lock?.token !== token && !this.#locks.isBroken(token)) {
      this.#report(`I1: ${name} was raised for ${token}, which does not hold the namespace`);
    }
    if (this.#locks.of(token)?.quotas.some((quota) => quota.uid === uid) !== true) {
      this.#report(`I1: ${name} was raised, and is none of the quotas of ${token}`);
    }
    if (!this.proofs.has(token)) this.#report(`I1: ${name} was raised for ${token} without a proof`);
  }
}

/** A write of the project's processes to a quota. */
interface Write {
  readonly before: ResourceQuota;
  readonly quota: ResourceQuota;
}

/** A key that the write raises. */
interface Raised extends Write {
  readonly key: string;
}

interface Amounts4 {
  readonly max: Amount;
  readonly fixed: Amount;
  readonly original: Amount;
  /** How far status.hard is above spec.hard. */
  readonly more: Amount;
}

const hardOf = ({ status }: ResourceQuota): unknown => status?.hard;

const isMarked = (quota: ResourceQuota): boolean =>
  grantOf(quota).kind === 'held' && quota.metadata.labels?.[LABEL.raised] === 'true';

const amountOf = (text = '0'): Amount => parseQuantity(text);

/** The write increases a key that is above the spec. */
const rises = (before: ResourceQuota, quota: ResourceQuota): boolean =>
  keysAbove(quota).some((key) => amountOf(quota.status?.hard?.[key]) > amountOf(before.status?.hard?.[key]));

const keysAbove = ({ spec, status }: ResourceQuota): string[] =>
  Object.entries(status?.hard ?? {})
    .filter(([key, text]) => spec.hard?.[key] !== undefined && amountOf(text) > amountOf(spec.hard[key]))
    .map(([key]) => key);

const grantText = ({ metadata }: ResourceQuota): string | undefined =>
  metadata.annotations?.[ANNOTATION.grant];

const isSame = (one: unknown, other: unknown): boolean => isDeepStrictEqual(one, other);
