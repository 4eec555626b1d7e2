import { ANNOTATION, OUR_KEYS, UNREADABLE_TOKEN } from './names.ts';
import { TOKEN } from './token.ts';

/** The value of ANNOTATION.breakGlass that a namespace with these annotations accepts. */
export function breakGlassToken(annotations: Readonly<Record<string, string>> = {}): string {
  const token = annotations[ANNOTATION.token] ?? '';
  return TOKEN.test(token) ? token : UNREADABLE_TOKEN;
}

/** Metadata of a merge patch; null removes. */
export interface BreakGlassPatch {
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly labels: Readonly<Record<string, null>>;
}

/**
 * Removes a lock in one write. Two writes would not work: admission compares ANNOTATION.breakGlass with the token before the
 * write, and accepts it only where the write sets it. last-attempt remains, because the back-off needs it.
 */
export function breakGlassPatch(token: string): BreakGlassPatch {
  const kept: string = ANNOTATION.lastAttempt;
  const removed = OUR_KEYS.namespace.annotations.filter((key) => key !== kept);
  return {
    annotations: { [ANNOTATION.breakGlass]: token, ...nulls(removed) },
    labels: nulls(OUR_KEYS.namespace.labels),
  };
}

const nulls = (keys: readonly string[]): Record<string, null> =>
  Object.fromEntries(keys.map((key) => [key, null]));
