import { canonicalKey, type Amounts } from '../../../functions/domain/quota/charged.ts';
import { grantOf } from '../../../functions/domain/quota/grant.ts';
import type { ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';

/** The same few texts are asked for again and again. */
const known = new Map<string, Amount>();

function amountOf(text: string): Amount {
  let amount = known.get(text);
  if (amount === undefined) known.set(text, (amount = parseQuantity(text)));
  return amount;
}

/** What one quota must say, kept apart from what it says: by who wrote what. */
export class QuotaLedger {
  quota: ResourceQuota;
  /** What everybody but us last asked for, key by key: the original. */
  readonly intended: Map<string, string>;
  /** The most of it that may still be enforced: status.hard follows later. */
  readonly #ceiling = new Map<string, Amount>();

  constructor(quota: ResourceQuota) {
    this.quota = quota;
    this.intended = new Map(Object.entries(quota.spec.hard ?? {}));
    this.#settle();
  }

  get name(): string {
    return this.quota.metadata.name;
  }

  get uid(): string {
    return this.quota.metadata.uid;
  }

  /**
   * Somebody else wrote it: what he changed is what is wanted now, and what he left is not his. Whoever sets a raised key to
   * the very amount that it is raised to cannot be told from the raise, and gets the original back.
   */
  takeForeign(quota: ResourceQuota): void {
    const before = this.quota.spec.hard ?? {};
    const hard = quota.spec.hard ?? {};
    for (const key of new Set([...Object.keys(before), ...Object.keys(hard)])) {
      const now = hard[key];
      if (now === before[key]) continue;
      if (now === undefined) this.intended.delete(key);
      else this.intended.set(key, this.#originalOf(key, now) ?? now);
    }
    this.take(quota);
  }

  /** undefined: the key is not raised to this amount. */
  #originalOf(key: string, text: string): string | undefined {
    const state = grantOf(this.quota);
    if (state.kind !== 'held') return undefined;
    const { raised, original } = state.grant;
    return raised[key] !== undefined && amountOf(raised[key]) === amountOf(text) ? original[key] : undefined;
  }

  take(quota: ResourceQuota): void {
    this.quota = quota;
    this.#settle();
  }

  #settle(): void {
    for (const [key, text] of this.intended) {
      const amount = amountOf(text);
      const enforced = this.quota.status?.hard?.[key];
      const before = this.#ceiling.get(key);
      const isFollowed = enforced === undefined || amountOf(enforced) <= amount;
      if (before === undefined || isFollowed || amount > before) this.#ceiling.set(key, amount);
    }
  }

  /** Keys that the API server enforces above what anybody asked for. */
  raisedKeys(): string[] {
    return Object.entries(this.quota.status?.hard ?? {})
      .filter(([key, text]) => amountOf(text) > (this.#ceiling.get(key) ?? 0n))
      .map(([key]) => key);
  }

  /** Whether such a pod is counted by a key that is raised. */
  counts(usage: Amounts): boolean {
    return this.raisedKeys().some((key) => (usage.get(canonicalKey(key)) ?? 0n) > 0n);
  }

  /** Keys that neither say what is wanted, nor have it on record: the original is lost. */
  lostKeys(): string[] {
    const state = grantOf(this.quota);
    const original: ResourceList = state.kind === 'held' ? state.grant.original : {};
    const hard = this.quota.spec.hard ?? {};
    return [...this.intended]
      .filter(([key, text]) => hard[key] !== text && original[key] !== text)
      .map(([key]) => key);
  }

  /** Keys that a write of ours sets to what is not wanted. */
  changedAgainstWill(before: ResourceQuota, quota: ResourceQuota): string[] {
    return Object.entries(quota.spec.hard ?? {})
      .filter(([key, text]) => text !== before.spec.hard?.[key] && text !== this.intended.get(key))
      .map(([key]) => key);
  }

  /** Keys that nobody asked for. */
  strangeKeys(): string[] {
    return Object.keys(this.quota.spec.hard ?? {}).filter((key) => !this.intended.has(key));
  }

  /** As it must be at rest; what is not, one line each. */
  leftovers(): string[] {
    const hard = JSON.stringify(sorted(this.quota.spec.hard ?? {}));
    const wanted = JSON.stringify(sorted(Object.fromEntries(this.intended)));
    const enforced = JSON.stringify(sorted(this.quota.status?.hard ?? {}));
    return [
      ...(hard === wanted ? [] : [`spec.hard is ${hard}, not ${wanted}`]),
      ...(enforced === hard ? [] : [`status.hard is ${enforced}, not ${hard}`]),
      ...(grantOf(this.quota).kind === 'none' ? [] : ['it holds a grant']),
    ].map((line) => `ResourceQuota ${this.name}: ${line}`);
  }
}

const sorted = (list: ResourceList): [string, string][] =>
  Object.entries(list).sort(([one], [other]) => (one < other ? -1 : 1));
