/** The invariants of the protocol (docs/architecture.md#invariants). */
export const INVARIANTS = ['I1', 'I2', 'I3', 'I4', 'I5', 'I6', 'I7'] as const;
export type Invariant = (typeof INVARIANTS)[number];

/** The invariant at the start of a violation's text. Throws when the text starts with none. */
export function invariantOf(violation: string): Invariant {
  const found = INVARIANTS.find((invariant) => violation.startsWith(`${invariant}: `));
  if (found === undefined) throw new Error(`a violation without an invariant: ${violation}`);
  return found;
}
