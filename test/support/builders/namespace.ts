import type { Attempt } from '../../../functions/domain/verdict/attempt.ts';
import { podIdentities, type Lock } from '../../../functions/domain/lock.ts';
import { ANNOTATION, LABEL } from '../../../functions/domain/names.ts';
import type { Namespace } from '../../../functions/domain/objects.ts';
import { annotated, build, labelled, metadata, seconds, type Change, type MetaChange } from './object.ts';

/** The tenant's namespace, unlocked. */
export function aNamespace(...changes: Change<Namespace>[]): Namespace {
  const { namespace: _, ...own } = metadata('tenant');
  const labels = { 'kubernetes.io/metadata.name': 'tenant' };
  return build({ apiVersion: 'v1', kind: 'Namespace', metadata: { ...own, labels } }, changes);
}

/** Locked by this lock: annotations and label. */
export const lockedBy =
  (lock: Lock): MetaChange =>
  (object) =>
    [
      labelled(LABEL.locked),
      annotated(ANNOTATION.lock, JSON.stringify(lock)),
      annotated(ANNOTATION.token, lock.token),
      annotated(ANNOTATION.migrations, podIdentities(lock.migrations)),
    ].reduce((before, change) => change(before), object);

/** The label of a lock, and an unreadable lock annotation. */
export const lockedUnreadably =
  (text = '{'): MetaChange =>
  (object) =>
    labelled(LABEL.locked)(annotated(ANNOTATION.lock, text)(object));

export const afterAttempt = (attempt: Attempt): MetaChange =>
  annotated(ANNOTATION.lastAttempt, JSON.stringify(attempt));

/** Set five seconds ago for 30 s, for mig0 of vm0 and the quota `quota`. */
export function aLock(different: Partial<Lock> = {}): Lock {
  return {
    v: 1,
    token: 'token-1',
    acquiredAt: seconds(-5),
    expiresAt: seconds(25),
    migrations: [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0' }],
    quotas: [{ name: 'quota', uid: 'uid-of-quota' }],
    vmmrqs: ['vmmrq'],
    of: 'something',
    ...different,
  };
}

/** With what the quota charges for its launcher. */
export const aSizedLock = (different: Partial<Lock> = {}): Lock =>
  aLock({
    quotas: [
      {
        name: 'quota',
        uid: 'uid-of-quota',
        need: { 'requests.cpu': '1005m', 'requests.memory': '1412828864' },
      },
    ],
    ...different,
  });

/** Expired one second ago. */
export const anExpiredLock = (different: Partial<Lock> = {}): Lock =>
  aLock({ acquiredAt: seconds(-31), expiresAt: seconds(-1), ...different });

/** One failed attempt that ended at `until`, ten seconds ago if left out. */
export const lockedFor = (ms: number, until = seconds(-10)): Attempt['locked'] => [{ until, ms }];

/** One failed attempt, ten seconds ago, that locked for four seconds. */
export function anAttempt(different: Partial<Attempt> = {}): Attempt {
  return {
    at: seconds(-10),
    failures: 1,
    locked: lockedFor(4_000),
    reason: 'RaisedButNotAdmitted',
    outcome: 'failed',
    of: 'something',
    ...different,
  };
}
