import { ANNOTATION, OUR_KEYS, UNREADABLE_TOKEN } from '../../functions/domain/names.ts';

/** What the guard and the API server's policies both say, in the same words (hack/manifests/admission renders it as CEL). */
export interface DeniedKeys {
  /** Names of the keys that would change, joined for people. */
  readonly keys: string;
  readonly namespace: string;
  /** The flat token, or UNREADABLE_TOKEN. */
  readonly token: string;
}

/** To a write of what we keep on a Namespace, with the command that breaks the glass. */
export const keysDeniedMessage = ({ keys, ...lock }: DeniedKeys): string =>
  `${keys} may only be changed by managed-tenant-quota: a lock ends by itself within a minute. Break-glass: a user who may ` +
  `'override' 'locks.mtq.kubevirt.io' may run: ${breakGlassCommand(lock)} (see docs/operations.md)`;

/**
 * Takes a lock off in one write. It has to be one: the value of ANNOTATION.breakGlass is compared with the token before the
 * write, and counts only where it is newly set. last-attempt stays: the back-off goes by it.
 */
export function breakGlassCommand({ namespace, token }: Omit<DeniedKeys, 'keys'>): string {
  const kept: string = ANNOTATION.lastAttempt;
  const removed = OUR_KEYS.namespace.annotations.filter((key) => key !== kept);
  const nulls = (keys: readonly string[]): object => Object.fromEntries(keys.map((key) => [key, null]));
  const metadata = {
    annotations: { [ANNOTATION.breakGlass]: token, ...nulls(removed) },
    labels: nulls(OUR_KEYS.namespace.labels),
  };
  // Helm would read two braces in a row as its own.
  const patch = JSON.stringify({ metadata }).replaceAll(/\}(?=\})/g, '} ');
  return `kubectl patch namespace ${namespace} --type=merge -p '${patch}'`;
}

/** The word that breaks the glass of a namespace with these annotations. */
export const breakGlassToken = (annotations: Readonly<Record<string, string>> = {}): string =>
  annotations[ANNOTATION.token] ?? UNREADABLE_TOKEN;

/** To a write of what we keep on a ResourceQuota, or to a new one that has it. */
export const forgedKeysMessage = (keys: string): string =>
  `${keys} may only be written by managed-tenant-quota. To copy or restore a quota, leave them out`;
