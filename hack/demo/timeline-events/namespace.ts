import { lastAttemptOf } from '../../../functions/domain/verdict/attempt.ts';
import { lockOf, type LockState } from '../../../functions/domain/lock.ts';
import type { Namespace } from '../../../functions/domain/objects.ts';
import type { EventDetails, Versions } from './timeline-event.ts';

/** Reports a lock or an unlock. A lock of another version counts too, because the bench compares commits. */
export function ofNamespace({ before, after }: Versions<Namespace>): EventDetails[] {
  if (before === undefined || after === undefined) return [];
  const [was, is] = [lockOf(before), lockOf(after)];
  if ((was.kind === 'none') === (is.kind === 'none')) return [];
  const { name, resourceVersion } = before.metadata;
  const replaced = { resource: 'namespaces', name, resourceVersion };
  return is.kind === 'none'
    ? [{ what: 'unlocked', text: unlockText(before, after), replaced, by: 'unlock' }]
    : [{ what: 'locked', text: lockText(is), replaced, by: 'lock' }];
}

function lockText(state: LockState): string {
  if (state.kind !== 'held') return 'locks the namespace with a lock that cannot be read';
  const { migrations, acquiredAt, expiresAt } = state.lock;
  const names = migrations.map(({ name }) => name).join(', ');
  const seconds = (Date.parse(expiresAt) - Date.parse(acquiredAt)) / 1_000;
  return `locks the namespace for ${names}, ${seconds} s at most`;
}

function unlockText(before: Namespace, after: Namespace): string {
  const attempt = lastAttemptOf(after, Infinity);
  if (attempt === undefined || attempt.failures === 0 || attempt.at === lastAttemptOf(before, Infinity)?.at) {
    return 'unlocks the namespace';
  }
  return `unlocks the namespace, and notes the failed attempt (${attempt.reason})`;
}
