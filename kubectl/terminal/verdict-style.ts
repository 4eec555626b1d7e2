import type { VerdictName } from '../../functions/domain/verdict/verdict.ts';
import type { Style } from './table.ts';

/** Red needs a person, yellow waits, green gets through. */
export const VERDICT_STYLE: Readonly<Record<VerdictName, Style>> = {
  NotBlocked: 'green',
  Waiting: 'yellow',
  NoFit: 'red',
  Unsupported: 'red',
  Fits: 'green',
  FitsWithRaise: 'green',
};
