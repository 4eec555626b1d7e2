import { fingerprint } from '../domain/fingerprint.ts';

/** Characters of a key: 40 bits, so that among 10,000 VMs two share one in 1 of 20,000 cases. */
const KEY = 10;

/** The key of a VM among the counted ones. By its name: a VM that restarts is the same VM. */
export const keyOf = (namespace: string, name: string): string =>
  fingerprint(`${namespace}/${name}`).slice(0, KEY);

export interface Counts {
  readonly total: number;
  readonly done: number;
  readonly left: number;
  /** The keys of every VM that was ever counted, sorted. */
  readonly counted: string;
}

/**
 * Counts from the keys that were counted before and those of the VMs that are left: total = those at the start and
 * newcomers, done = total − left. Nothing is incremented, so a repeated or an overtaken run counts the same.
 */
export function count(before: string, left: readonly string[]): Counts {
  const keys = new Set([...(before.match(new RegExp(`.{${String(KEY)}}`, 'g')) ?? []), ...left]);
  const remaining = new Set(left).size;
  return {
    total: keys.size,
    done: keys.size - remaining,
    left: remaining,
    counted: [...keys].sort().join(''),
  };
}
