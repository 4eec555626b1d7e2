import type { Figure } from './figures.ts';

/** What a part of the bench found. */
export interface Findings {
  readonly figures: readonly Figure[];
  /** For --profile: where it goes, as text under a heading. */
  readonly details?: readonly Detail[];
}

export interface Detail {
  readonly heading: string;
  readonly lines: readonly string[];
}
