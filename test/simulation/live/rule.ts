/** The invariants of a run (docs/architecture.md#invariants-of-a-move); no rule of the product is used to check them. */
export const RULES = [
  /** Never two running copies. */
  'L1',
  /** The only running copy is never ended. */
  'L2',
  /** Before the cut-over the source stays as it was. */
  'L3',
  /** Everything ends. */
  'L4',
  /** No step is repeated that was done. */
  'L5',
  /** What the run did not make stays as it is, and it does nothing that its user may not. */
  'L6',
  /** A VM that is over its quota for good is shown. */
  'L8',
] as const;
export type Rule = (typeof RULES)[number];
