import { lastAttemptOf } from '../../../functions/domain/attempt.ts';
import { lockOf, type Lock } from '../../../functions/domain/lock.ts';
import type { Namespace } from '../../../functions/domain/objects.ts';
import type { Found, Versions } from './happening.ts';

/** The namespace is locked, or unlocked. */
export function ofNamespace({ before, after }: Versions<Namespace>): Found[] {
  if (before === undefined || after === undefined) return [];
  const [was, is] = [lockOf(before), lockOf(after)];
  const { name, resourceVersion } = before.metadata;
  const replaced = { resource: 'namespaces', name, resourceVersion };
  if (was.kind !== 'held' && is.kind === 'held') {
    return [{ what: 'locked', text: lockText(is.lock), replaced, by: 'lock' }];
  }
  if (was.kind === 'none' || is.kind !== 'none') return [];
  return [{ what: 'unlocked', text: unlockText(before, after), replaced, by: 'unlock' }];
}

function lockText({ migrations, acquiredAt, expiresAt }: Lock): string {
  const names = migrations.map(({ name }) => name).join(', ');
  const seconds = (Date.parse(expiresAt) - Date.parse(acquiredAt)) / 1_000;
  return `locks the namespace for ${names}, ${seconds} s at most`;
}

function unlockText(before: Namespace, after: Namespace): string {
  const attempt = lastAttemptOf(after);
  if (attempt === undefined || attempt.failures === 0 || attempt.at === lastAttemptOf(before)?.at) {
    return 'unlocks the namespace';
  }
  return `unlocks the namespace, and notes the failed attempt (${attempt.reason})`;
}
