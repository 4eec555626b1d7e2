import type { ResourceList } from '../../../functions/domain/objects.ts';
import { parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';

const NANO = 1_000_000_000n;
const DECIMAL = ['E', 'P', 'T', 'G', 'M', 'k', '', 'm', 'u', 'n'].map((suffix, index): [string, bigint] => [
  suffix,
  10n ** BigInt(27 - 3 * index),
]);
const BINARY = ['Ei', 'Pi', 'Ti', 'Gi', 'Mi', 'Ki', ''].map((suffix, index): [string, bigint] => [
  suffix,
  NANO * 1024n ** BigInt(6 - index),
]);

const known = new Map<string, string>();

/**
 * The text that the API server returns for a built-in kind's quantity (apimachinery, resource.Quantity.CanonicalizeBytes): the largest
 * suffix that needs no fraction, of the family it was written in. One with an exponent stays as it is.
 */
function canonicalQuantity(text: string): string {
  let canonical = known.get(text);
  if (canonical === undefined) {
    canonical = /[eE][+-]?\d/.test(text) ? text : formatAmount(parseQuantity(text), text.endsWith('i'));
    known.set(text, canonical);
  }
  return canonical;
}

/** The canonical text of an amount. Binary suffixes only where requested, exact, and at least 1 Ki. */
export function formatAmount(amount: Amount, binary = false): string {
  if (amount === 0n) return '0';
  const isBinary = binary && amount % NANO === 0n && (amount < 0n ? -amount : amount) >= 1024n * NANO;
  for (const [suffix, unit] of isBinary ? BINARY : DECIMAL) {
    if (amount % unit === 0n) return `${String(amount / unit)}${suffix}`;
  }
  throw new Error(`${String(amount)} is no amount`);
}

/** undefined for an empty list, as the API server leaves it out. */
export function canonicalList(list: ResourceList | undefined): ResourceList | undefined {
  const entries = Object.entries(list ?? {});
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.map(([key, text]) => [key, canonicalQuantity(text)]));
}
