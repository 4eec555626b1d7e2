import { recordIn } from '../incumbent.ts';
import { grantOf } from '../quota/grant.ts';
import { liveLock, lockOf } from '../lock.ts';
import { ANNOTATION, isReserved, REASON } from '../names.ts';
import type { Namespace, ResourceQuota, Vmmrq } from '../objects.ts';
import type { Rules } from '../snapshot.ts';
import type { View } from '../view.ts';
import { verdictResult, type VerdictResult } from './verdict.ts';

export interface PreconditionInput {
  readonly namespace: Namespace;
  readonly quotas: readonly ResourceQuota[];
  /** The API server's clock, milliseconds. */
  readonly now: number;
  readonly view?: View | undefined;
  readonly incumbent?: string | undefined;
  readonly vmmrqs: readonly Vmmrq[];
}

/** What shows the incumbent; undefined: nothing. The VMMRQs are newer than the guard's view, or there is none. */
export const incumbentIn = ({
  view,
  incumbent,
  vmmrqs,
}: Pick<PreconditionInput, 'view' | 'incumbent' | 'vmmrqs'>): string | undefined =>
  view?.incumbent ?? incumbent ?? recordIn(vmmrqs);

/** The verdict for every migration of the namespace, whatever its size; undefined: each is evaluated by itself. */
export const namespaceBlocker = (input: PreconditionInput, rules: Rules): VerdictResult | undefined =>
  optedOut(input, rules) ?? inProgress(input);

/** The namespace is not ours to raise in. */
function optedOut(input: PreconditionInput, rules: Rules): VerdictResult | undefined {
  const { name, deletionTimestamp, annotations } = input.namespace.metadata;
  if (isReserved({ namespace: name, kubevirtNamespace: rules.kubevirtNamespace })) {
    const message = `namespace ${name} belongs to the cluster and is never locked`;
    return verdictResult('Unsupported', REASON.reservedNamespace, message);
  }
  if (deletionTimestamp !== undefined) {
    return verdictResult('Unsupported', REASON.namespaceTerminating, 'the namespace is being deleted');
  }
  if (annotations?.[ANNOTATION.skip] === 'true') {
    return verdictResult(
      'Unsupported',
      REASON.skipped,
      `the namespace opts out by the annotation ${ANNOTATION.skip}`,
    );
  }
  const incumbent = incumbentIn(input);
  return incumbent === undefined
    ? undefined
    : verdictResult('Unsupported', REASON.incumbentPresent, incumbent);
}

/** A cycle is under way, or something is left over. */
function inProgress({ namespace, quotas, now }: PreconditionInput): VerdictResult | undefined {
  if (lockOf(namespace).kind !== 'none') {
    const live = liveLock(namespace, now);
    const names = live?.migrations.map(({ name: migration }) => migration).join(', ');
    const message =
      names === undefined ? 'and its lock is being repaired' : `for ${names}, for a few seconds`;
    return verdictResult('Waiting', REASON.alreadyLocked, `the namespace is locked, ${message}`);
  }
  const left = quotas.find((quota) => grantOf(quota).kind !== 'none');
  if (left !== undefined) {
    const message = `ResourceQuota ${left.metadata.name} holds a grant without a lock, and is lowered first`;
    return verdictResult('Waiting', REASON.grantWithoutLock, message);
  }
  return undefined;
}
