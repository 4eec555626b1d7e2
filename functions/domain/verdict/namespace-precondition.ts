import { grantOf } from '../quota/grant.ts';
import { liveLock, lockOf } from '../lock.ts';
import { ANNOTATION, isReserved, REASON } from '../names.ts';
import type { Namespace, ResourceQuota } from '../objects.ts';
import type { Rules } from '../snapshot.ts';
import type { View } from '../view.ts';
import { finding, type Finding } from './verdict.ts';

export interface PreconditionInput {
  readonly namespace: Namespace;
  readonly quotas: readonly ResourceQuota[];
  /** The API server's clock, milliseconds. */
  readonly now: number;
  readonly view?: View | undefined;
}

/** What holds for every migration of the namespace, whatever size it has; undefined: each is judged by itself. */
export const namespaceBlocker = (input: PreconditionInput, rules: Rules): Finding | undefined =>
  optedOut(input, rules) ?? inProgress(input);

/** It is not ours to help. */
function optedOut({ namespace, view }: PreconditionInput, rules: Rules): Finding | undefined {
  const { name, deletionTimestamp, annotations } = namespace.metadata;
  if (isReserved(name, rules.kubevirtNamespace)) {
    const why = `namespace ${name} belongs to the cluster and is never locked`;
    return finding('Unsupported', REASON.reservedNamespace, why);
  }
  if (deletionTimestamp !== undefined) {
    return finding('Unsupported', REASON.namespaceTerminating, 'the namespace is being deleted');
  }
  if (annotations?.[ANNOTATION.skip] === 'true') {
    return finding('Unsupported', REASON.skipped, `the namespace is annotated ${ANNOTATION.skip}`);
  }
  if (view?.incumbent !== undefined) {
    return finding('Unsupported', REASON.incumbentPresent, view.incumbent);
  }
  return undefined;
}

/** Something is under way, or left over. */
function inProgress({ namespace, quotas, now }: PreconditionInput): Finding | undefined {
  if (lockOf(namespace).kind !== 'none') {
    const live = liveLock(namespace, now);
    const names = live?.migrations.map(({ name: migration }) => migration).join(', ');
    const why = names === undefined ? 'and its lock is being repaired' : `for ${names}, for a few seconds`;
    return finding('Waiting', REASON.alreadyLocked, `the namespace is locked, ${why}`);
  }
  if (quotas.some((quota) => grantOf(quota).kind !== 'none')) {
    return finding('Waiting', REASON.grantWithoutLock, 'a quota still holds a grant: it is put back first');
  }
  return undefined;
}
