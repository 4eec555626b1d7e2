import { ANNOTATION, OUR_KEYS, UNREADABLE_TOKEN } from '../../functions/domain/names.ts';

/** Messages that the guard and the policies share word for word (hack/manifests/admission renders them as CEL). */
export interface DeniedKeys {
  /** Names of the keys that would change, joined for people. */
  readonly keys: string;
  readonly namespace: string;
  /** The flat token, or UNREADABLE_TOKEN. */
  readonly token: string;
}

/** The refusal of a write to our keys on a Namespace, with the break-glass command. */
export const keysDeniedMessage = ({ keys, ...lock }: DeniedKeys): string =>
  `${keys} may only be changed by managed-tenant-quota: a lock ends by itself within a minute. Break-glass: a user who may ` +
  `'override' 'locks.mtq.kubevirt.io' may run: ${breakGlassCommand(lock)} (see docs/operations.md)`;

/**
 * The command that removes a lock in one write. Two writes would not work: admission compares ANNOTATION.breakGlass with the
 * token before the write, and accepts it only where the write sets it. last-attempt remains, because the back-off needs it.
 */
export function breakGlassCommand({ namespace, token }: Omit<DeniedKeys, 'keys'>): string {
  const kept: string = ANNOTATION.lastAttempt;
  const removed = OUR_KEYS.namespace.annotations.filter((key) => key !== kept);
  const nulls = (keys: readonly string[]): object => Object.fromEntries(keys.map((key) => [key, null]));
  const metadata = {
    annotations: { [ANNOTATION.breakGlass]: token, ...nulls(removed) },
    labels: nulls(OUR_KEYS.namespace.labels),
  };
  // Helm would parse two braces in a row as its own syntax.
  const patch = JSON.stringify({ metadata }).replaceAll(/\}(?=\})/g, '} ');
  return `kubectl patch namespace ${namespace} --type=merge -p '${patch}'`;
}

/** The value of ANNOTATION.breakGlass that a namespace with these annotations accepts. */
export const breakGlassToken = (annotations: Readonly<Record<string, string>> = {}): string =>
  annotations[ANNOTATION.token] ?? UNREADABLE_TOKEN;

/** The refusal of a write to our keys on a ResourceQuota, or of a new quota that has them. */
export const forgedKeysMessage = (keys: string): string =>
  `${keys} may only be written by managed-tenant-quota. To copy or restore a quota, leave them out`;
