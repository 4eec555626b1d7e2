import { isLockedFor, lockOf, type LockState } from '../../functions/domain/lock.ts';
import { ANNOTATION, LABEL, OUR_USERS, userOf, WEBHOOK } from '../../functions/domain/names.ts';
import type { Namespace } from '../../functions/domain/objects.ts';
import type { AdmissionRequest, Decision, Refusal } from './admission.ts';

export interface ReviewInput {
  readonly request: AdmissionRequest;
  /** Read now, not from a cache; undefined: it is gone. */
  readonly namespace: Namespace | undefined;
  readonly kubevirtNamespace: string;
  readonly kubevirtController: string;
}

const ALLOWED: Decision = { allowed: true };

/** Whether the request is about a namespace's own keys: that needs no live read. */
export const isAboutKeys = ({ resource }: AdmissionRequest): boolean => resource.resource === 'namespaces';

/**
 * The guard's whole judgement, pure. Refuses by default: every way to `allowed` is written out. What the webhooks'
 * matchConditions let pass never comes here; if it comes all the same it gets the same answer, but for the harmless
 * updates of a pod or a ResourceClaim: those are refused.
 */
export function review(input: ReviewInput): Decision {
  return isAboutKeys(input.request) ? reviewKeys(input.request) : reviewLocked(input);
}

/** Only we take a lock, its label or the record of an attempt on or off: everybody else could free a raised quota. */
function reviewKeys(request: AdmissionRequest): Decision {
  if (OUR_USERS.includes(request.userInfo.username)) return ALLOWED;
  const changed = changedKeys(request);
  if (changed.length === 0) return ALLOWED;
  return refuse(
    `${changed.join(', ')} may only be changed by managed-tenant-quota: the lock ends by itself within a minute. ` +
      `Break-glass: a user who may 'override' 'locks.mtq.kubevirt.io' may change it (see docs/operations)`,
  );
}

function changedKeys({ object, oldObject }: AdmissionRequest): string[] {
  const now = object?.metadata;
  const before = oldObject?.metadata;
  const annotations = [ANNOTATION.lock, ANNOTATION.lastAttempt].filter(
    (key) => now?.annotations?.[key] !== before?.annotations?.[key],
  );
  return [...annotations, ...[LABEL.locked].filter((key) => now?.labels?.[key] !== before?.labels?.[key])];
}

function reviewLocked({ request, namespace, ...kubevirt }: ReviewInput): Decision {
  if (namespace === undefined) return refuse(`namespace ${request.namespace ?? ''} is gone`);
  const state = lockOf(namespace);
  // The API server asked because of a label in its cache that is gone by now.
  if (state.kind === 'none') return ALLOWED;
  const isCleanUp = request.operation === 'DELETE' && namespace.metadata.deletionTimestamp !== undefined;
  if (isCleanUp) return ALLOWED;
  switch (request.resource.resource) {
    case 'pods':
      return reviewPod(request, state, userOf(kubevirt.kubevirtController, kubevirt.kubevirtNamespace));
    case 'resourcequotas':
      return reviewQuota(request, state);
    default:
      return refuse(lockedMessage(request, state));
  }
}

/**
 * The lock's own migrations' pods, created by KubeVirt's controller; matched by UIDs, never by name. By two: the labels of any
 * VMI are on its launcher too, and only who made it can be nobody else's.
 */
function reviewPod(request: AdmissionRequest, state: LockState, controller: string): Decision {
  const { object } = request;
  const isOfLock = state.kind === 'held' && object !== null && isLockedFor(state.lock, object);
  const isCreate = request.operation === 'CREATE' && (request.subResource ?? '') === '';
  if (isCreate && isOfLock && request.userInfo.username === controller) return ALLOWED;
  return refuse(lockedMessage(request, state));
}

/** Only ours may change a quota; even ours may not make one: that refusal is the proof that the guard stands here. */
function reviewQuota(request: AdmissionRequest, state: LockState): Decision {
  const isOurs = OUR_USERS.includes(request.userInfo.username);
  if (isOurs && request.operation === 'UPDATE') return ALLOWED;
  const refusal = refuse(lockedMessage(request, state));
  if (!isOurs || state.kind !== 'held') return refusal;
  return { ...refusal, causes: [{ reason: WEBHOOK.locked, message: state.lock.token }] };
}

const refuse = (message: string): Refusal => ({ allowed: false, code: 403, reason: 'Forbidden', message });

function lockedMessage({ namespace, operation, resource }: AdmissionRequest, state: LockState): string {
  const what = `${operation} of ${resource.resource} in namespace ${namespace ?? ''} must wait`;
  if (state.kind !== 'held')
    return `${what}: the namespace's lock cannot be read and is being repaired; try again`;
  const { migrations, expiresAt } = state.lock;
  const names = migrations.map(({ name }) => name).join(', ');
  return (
    `${what}: its quotas are raised for the live migration of ${names} for a few seconds, ` +
    `until ${expiresAt} at the latest; try again then`
  );
}
