import { canonicalKey, type Amounts } from '../../../functions/domain/quota/charged.ts';
import { grantOf } from '../../../functions/domain/quota/grant.ts';
import type { ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';

/** Cached, because a run parses the same few amounts very often. */
const known = new Map<string, Amount>();

function amountOf(text: string): Amount {
  let amount = known.get(text);
  if (amount === undefined) known.set(text, (amount = parseQuantity(text)));
  return amount;
}

/** The amounts that one quota must have, derived from its writers and not from the quota itself. */
export class QuotaLedger {
  quota: ResourceQuota;
  /** The original: for each key, the last amount that a user other than the project's accounts wrote. */
  readonly intended: Map<string, string>;
  /** The largest original that may still be enforced, because status.hard follows the spec later. */
  readonly #ceiling = new Map<string, Amount>();

  constructor(quota: ResourceQuota) {
    this.quota = quota;
    this.intended = new Map(Object.entries(quota.spec.hard ?? {}));
    this.#sync();
  }

  get name(): string {
    return this.quota.metadata.name;
  }

  get uid(): string {
    return this.quota.metadata.uid;
  }

  /** Another user wrote the quota: its spec is the original from now on. */
  applyForeign(quota: ResourceQuota): void {
    this.intended.clear();
    for (const [key, text] of Object.entries(quota.spec.hard ?? {})) this.intended.set(key, text);
    this.record(quota);
  }

  record(quota: ResourceQuota): void {
    this.quota = quota;
    this.#sync();
  }

  #sync(): void {
    for (const [key, text] of this.intended) {
      const amount = amountOf(text);
      const enforced = this.quota.status?.hard?.[key];
      const before = this.#ceiling.get(key);
      const isFollowed = enforced === undefined || amountOf(enforced) <= amount;
      if (before === undefined || isFollowed || amount > before) this.#ceiling.set(key, amount);
    }
  }

  /** Keys that the API server enforces above their original. */
  raisedKeys(): string[] {
    return Object.entries(this.quota.status?.hard ?? {})
      .filter(([key, text]) => amountOf(text) > (this.#ceiling.get(key) ?? 0n))
      .map(([key]) => key);
  }

  /** Whether a raised key counts such a pod. */
  counts(usage: Amounts): boolean {
    return this.raisedKeys().some((key) => (usage.get(canonicalKey(key)) ?? 0n) > 0n);
  }

  /** Keys whose spec.hard differs from the original. */
  lostKeys(): string[] {
    const hard = this.quota.spec.hard ?? {};
    const keys = new Set([...this.intended.keys(), ...Object.keys(hard)]);
    return [...keys].filter((key) => hard[key] !== this.intended.get(key));
  }

  /**
   * One line for each way in which the quota differs from its quiescent state. Without a quota controller status.hard does not follow
   * the spec: then it may be anything that is not raised.
   */
  leftovers(isFollowed: boolean): string[] {
    const hard = JSON.stringify(sorted(this.quota.spec.hard ?? {}));
    const wanted = JSON.stringify(sorted(Object.fromEntries(this.intended)));
    const enforced = JSON.stringify(sorted(this.quota.status?.hard ?? {}));
    return [
      ...(hard === wanted ? [] : [`spec.hard is ${hard}, not ${wanted}`]),
      ...((isFollowed ? enforced === hard : this.raisedKeys().length === 0)
        ? []
        : [`status.hard is ${enforced}, not ${hard}`]),
      ...(grantOf(this.quota).kind === 'none' ? [] : ['it holds a grant']),
    ].map((line) => `ResourceQuota ${this.name}: ${line}`);
  }
}

const sorted = (list: ResourceList): [string, string][] =>
  Object.entries(list).sort(([one], [other]) => (one < other ? -1 : 1));
