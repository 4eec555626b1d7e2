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
    this.#sync();
  }

  get name(): string {
    return this.quota.metadata.name;
  }

  get uid(): string {
    return this.quota.metadata.uid;
  }

  /** Somebody else wrote it: what its spec says is what is wanted now. */
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

  /** Keys of which its spec does not say what everybody but us asked for. */
  lostKeys(): string[] {
    const hard = this.quota.spec.hard ?? {};
    const keys = new Set([...this.intended.keys(), ...Object.keys(hard)]);
    return [...keys].filter((key) => hard[key] !== this.intended.get(key));
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
