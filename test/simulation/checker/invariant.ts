/** The invariants of the protocol (docs/architecture.md#invariants). */
export const INVARIANTS = ['I1', 'I2', 'I3', 'I4', 'I5', 'I6', 'I7'] as const;
export type Invariant = (typeof INVARIANTS)[number];

/** The one that a breach begins with. Throws when it begins with none. */
export function invariantOf(violation: string): Invariant {
  const found = INVARIANTS.find((invariant) => violation.startsWith(`${invariant}: `));
  if (found === undefined) throw new Error(`a breach of no invariant: ${violation}`);
  return found;
}
