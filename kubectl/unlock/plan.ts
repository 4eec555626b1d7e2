import { shown } from '../../functions/domain/foreign-text.ts';
import { breakGlassPatch, breakGlassToken } from '../../functions/domain/break-glass.ts';
import { isLockExpired, lockOf, type Lock } from '../../functions/domain/lock.ts';
import { ANNOTATION, UNREADABLE_TOKEN } from '../../functions/domain/names.ts';
import type { Namespace } from '../../functions/domain/objects.ts';
import { formatAge } from '../terminal/age.ts';

/** Describes a lock before its removal; undefined: there is none. `now`: the API server's clock, milliseconds. */
export function describeLock(namespace: Namespace, now: number): string[] | undefined {
  const state = lockOf(namespace);
  if (state.kind === 'none') return undefined;
  return [
    `Namespace:  ${namespace.metadata.name}`,
    `Token:      ${shown(tokenOf(namespace))}`,
    ...(state.kind === 'held' ? linesOf(state.lock, now) : [`Problem:    ${shown(state.problem)}`]),
    '',
    ...EFFECT,
  ];
}

/** The lock's token, by which break-glass names it. */
export const tokenOf = ({ metadata }: Namespace): string => breakGlassToken(metadata.annotations);

/**
 * Merge patches of the metadata, in their order, that remove the lock of this version of the namespace. The patches are two where the
 * token is in ANNOTATION.breakGlass already: admission counts it only where a write sets it.
 */
export function unlockPatches(namespace: Namespace): object[] {
  const token = tokenOf(namespace);
  const isSet = namespace.metadata.annotations?.[ANNOTATION.breakGlass] === token;
  const clear = { annotations: { [ANNOTATION.breakGlass]: null } };
  return [...(isSet ? [clear] : []), breakGlassPatch(token)];
}

/** The change of a lock since it was shown. */
export function changeOf(shown: Namespace, now: Namespace): 'same' | 'ended' | 'replaced' {
  if (lockOf(now).kind === 'none') return 'ended';
  const isSame =
    tokenOf(now) === tokenOf(shown) && (tokenOf(now) !== UNREADABLE_TOKEN || hasSameText(shown, now));
  return isSame ? 'same' : 'replaced';
}

/** Whether both locks have the same text: a lock without a token of its own has no other identity. */
const hasSameText = (one: Namespace, other: Namespace): boolean =>
  one.metadata.annotations?.[ANNOTATION.lock] === other.metadata.annotations?.[ANNOTATION.lock];

const EFFECT: readonly string[] = [
  'The lock is removed by break-glass, in one write. The quotas need no action: a running guard sets',
  'status.hard to spec.hard within seconds, else kube-controller-manager does at its next recount.',
];

function linesOf(lock: Lock, now: number): string[] {
  const namesOf = (of: readonly { readonly name: string }[]): string =>
    of.length === 0 ? '<none>' : of.map(({ name }) => name).join(', ');
  return [
    `Locked:     for ${formatAge(now - Date.parse(lock.acquiredAt))}, since ${lock.acquiredAt}`,
    `Until:      ${lock.expiresAt} (${leftOf(lock, now)})`,
    `Migrations: ${namesOf(lock.migrations)}`,
    `Quotas:     ${namesOf(lock.quotas)}`,
  ];
}

const leftOf = (lock: Lock, now: number): string =>
  isLockExpired(lock, now)
    ? 'expired: a running guard removes it within seconds'
    : `it ends by itself in ${formatAge(Date.parse(lock.expiresAt) - now)}: better wait`;
