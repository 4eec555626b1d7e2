import { isLockedFor, lockOf, type LockState } from '../../functions/domain/lock.ts';
import { OUR_KEYS, OUR_USERS, userOf, WEBHOOK } from '../../functions/domain/names.ts';
import type { Namespace } from '../../functions/domain/objects.ts';
import { proofOf, type IncumbentState } from '../../functions/domain/proof.ts';
import type { AdmissionRequest, Decision, Denial } from './admission.ts';
import { changedKeys, changedNamespaceKeys } from './changed-keys.ts';
import { breakGlassToken, keysDeniedMessage } from './messages.ts';

export interface ReviewInput {
  readonly request: AdmissionRequest;
  /** Read now, not from a cache; undefined: it is gone. */
  readonly namespace: Namespace | undefined;
  /** The API server's clock at that read, milliseconds. */
  readonly now: number;
  readonly incumbent: IncumbentState;
  readonly kubevirtNamespace: string;
  readonly kubevirtController: string;
}

const ALLOWED: Decision = { allowed: true };

/** Whether the request is about a namespace's own keys: that needs no live read. */
export const isAboutKeys = ({ resource }: AdmissionRequest): boolean => resource.resource === 'namespaces';

/**
 * The guard's whole decision, pure. Refuses by default: every way to `allowed` is written out. What the webhooks'
 * matchConditions let pass never comes here; if it comes all the same it gets the same answer, but for the harmless
 * updates of a pod or a ResourceClaim: those are refused.
 */
export function review(input: ReviewInput): Decision {
  return isAboutKeys(input.request) ? reviewKeys(input.request) : reviewLocked(input);
}

/** Only we set or remove what we keep on a namespace. Who breaks the glass never comes here (matchConditions). */
function reviewKeys(request: AdmissionRequest): Decision {
  if (OUR_USERS.includes(request.userInfo.username)) return ALLOWED;
  const changed = changedNamespaceKeys(request);
  if (changed.length === 0) return ALLOWED;
  const { object, oldObject } = request;
  const keys = changed.join(', ');
  const namespace = object?.metadata.name ?? oldObject?.metadata.name ?? '';
  return deny(
    keysDeniedMessage({ keys, namespace, token: breakGlassToken(oldObject?.metadata.annotations) }),
  );
}

function reviewLocked(input: ReviewInput): Decision {
  const { request, namespace } = input;
  if (namespace === undefined) return deny(`namespace ${request.namespace ?? ''} is gone`);
  const state = lockOf(namespace);
  // The API server asked because of a label in its cache that is gone by now.
  if (state.kind === 'none') return ALLOWED;
  switch (request.resource.resource) {
    case 'pods':
      return reviewPod(request, state, userOf(input.kubevirtController, input.kubevirtNamespace));
    case 'resourcequotas':
      return reviewQuota({ ...input, namespace }, state);
    default:
      return deny(lockedMessage(request, state));
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
  return deny(lockedMessage(request, state));
}

/**
 * An edit that leaves our keys alone passes, and so does a deletion: an admin ends the raise by it. Nobody makes a quota, not even
 * one of ours: that refusal is the proof that the guard stands before this namespace.
 */
function reviewQuota(input: ReviewInput & { readonly namespace: Namespace }, state: LockState): Decision {
  const { request } = input;
  const isOurs = OUR_USERS.includes(request.userInfo.username);
  switch (request.operation) {
    case 'DELETE':
      return ALLOWED;
    case 'UPDATE':
      return isOurs || changedKeys(request, OUR_KEYS.quota).length === 0
        ? ALLOWED
        : deny(lockedMessage(request, state));
    case 'CREATE': {
      const denial = deny(lockedMessage(request, state));
      if (!isOurs || state.kind !== 'held') return denial;
      const message = JSON.stringify(proofOf({ ...input, lock: state.lock }));
      return { ...denial, causes: [{ reason: WEBHOOK.locked, message }] };
    }
  }
}

const deny = (message: string): Denial => ({ allowed: false, code: 403, reason: 'Forbidden', message });

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
