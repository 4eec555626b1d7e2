import { fingerprint } from '../domain/fingerprint.ts';

/** Characters of a key: 40 bits, so that among 10,000 VMs two share one in 1 of 20,000 cases. */
const KEY = 10;

/** The key of a VM among the counted ones. By its name: a VM that restarts is the same VM. */
export const keyOf = (namespace: string, name: string): string =>
  fingerprint(`${namespace}/${name}`).slice(0, KEY);

/** The keys of `counted`. */
export const keysIn = (counted: string): readonly string[] =>
  counted.match(new RegExp(`.{${String(KEY)}}`, 'g')) ?? [];

export interface Counts {
  readonly total: number;
  readonly done: number;
  readonly left: number;
  /** The keys of every VM that was ever counted, sorted. */
  readonly counted: string;
}

/**
 * Counts from the keys that were counted before, those of the VMs that are left, and those of the VMs that were moved, which may
 * have left before the first look: total = all of them, done = total − left. Nothing is incremented, so a repeated or an overtaken
 * run counts the same.
 */
export function count(before: string, left: readonly string[], moved: readonly string[] = []): Counts {
  const keys = new Set([...keysIn(before), ...left, ...moved]);
  const remaining = new Set(left).size;
  return {
    total: keys.size,
    done: keys.size - remaining,
    left: remaining,
    counted: [...keys].sort().join(''),
  };
}
