import { isLockedFor, lockOf, type LockState } from '../../functions/domain/lock.ts';
import { OUR_KEYS, OUR_USERS, userOf, WEBHOOK } from '../../functions/domain/names.ts';
import type { Namespace } from '../../functions/domain/objects.ts';
import { proofOf, type IncumbentState } from '../../functions/domain/proof.ts';
import type { AdmissionRequest, Decision, Denial } from './admission.ts';
import { changedKeys, changedNamespaceKeys, isLocked } from './changed-keys.ts';
import { breakGlassToken } from '../../functions/domain/break-glass.ts';
import { REFUSAL } from './messages.ts';

export interface ReviewInput {
  readonly request: AdmissionRequest;
  /** The namespace from a live read, not from a cache; undefined: it does not exist. */
  readonly namespace: Namespace | undefined;
  /** The API server's clock at that read, in milliseconds. */
  readonly now: number;
  readonly incumbent: IncumbentState;
  readonly kubevirtNamespace: string;
  readonly kubevirtController: string;
}

const ALLOWED: Decision = { allowed: true };

/** Whether the request writes a Namespace. Its review needs no live read. */
export const isAboutKeys = ({ resource }: AdmissionRequest): boolean => resource.resource === 'namespaces';

/**
 * The guard's whole decision, pure. It refuses by default: the code lists every case that it allows. The webhooks' matchConditions
 * keep allowed requests away from here. If one comes nevertheless, it gets the same answer, except for harmless updates of a pod
 * or a ResourceClaim: the guard refuses those.
 */
export function review(input: ReviewInput): Decision {
  return isAboutKeys(input.request) ? reviewKeys(input.request) : reviewLocked(input);
}

/**
 * Reserves our keys on a namespace to our accounts; where there is no lock, others may remove them. Break-glass writes do not come here
 * (matchConditions).
 */
function reviewKeys(request: AdmissionRequest): Decision {
  if (OUR_USERS.includes(request.userInfo.username)) return ALLOWED;
  const changed = changedNamespaceKeys(request);
  if (changed.length === 0) return ALLOWED;
  const { object, oldObject } = request;
  const keys = changed.join(', ');
  const namespace = object?.metadata.name ?? oldObject?.metadata.name ?? '';
  if (!isLocked(request)) return deny(REFUSAL.namespaceRecords.text({ keys, namespace }));
  const token = breakGlassToken(oldObject?.metadata.annotations);
  return deny(REFUSAL.namespaceKeys.text({ keys, namespace, token }));
}

function reviewLocked(input: ReviewInput): Decision {
  const { request, namespace } = input;
  if (namespace === undefined) return deny(REFUSAL.noNamespace.text({ namespace: request.namespace ?? '' }));
  const state = lockOf(namespace);
  // The API server's cache still had the label, but the lock is gone by now.
  if (state.kind === 'none') return ALLOWED;
  switch (request.resource.resource) {
    case 'pods':
      return reviewPod(input, state);
    case 'resourcequotas':
      return reviewQuota({ ...input, namespace }, state);
    default:
      return mustWait(input, state);
  }
}

/**
 * Allows the pods of the lock's migrations that KubeVirt's controller creates, matched by UIDs, never by name. It takes two UIDs:
 * a launcher has all labels of its VMI, so a tenant can forge the migration's UID there, but not created-by (docs/adr/0019).
 */
function reviewPod(input: ReviewInput, state: LockState): Decision {
  const { request } = input;
  const { object } = request;
  const isOfLock = state.kind === 'held' && object !== null && isLockedFor(state.lock, object);
  const isCreate = request.operation === 'CREATE' && (request.subResource ?? '') === '';
  return isCreate && isOfLock && isKubeVirt(input) ? ALLOWED : mustWait(input, state);
}

const isKubeVirt = ({ request, kubevirtController, kubevirtNamespace }: ReviewInput): boolean =>
  request.userInfo.username === userOf(kubevirtController, kubevirtNamespace);

/**
 * Allows an edit that does not change our keys, and a deletion, by which an admin ends the raise. Refuses every new quota, also from
 * our own accounts: that refusal is the proof that the guard enforces this lock.
 */
function reviewQuota(input: ReviewInput & { readonly namespace: Namespace }, state: LockState): Decision {
  const { request } = input;
  const isOurs = OUR_USERS.includes(request.userInfo.username);
  switch (request.operation) {
    case 'DELETE':
      return ALLOWED;
    case 'UPDATE':
      return isOurs || changedKeys(request, OUR_KEYS.quota).length === 0 ? ALLOWED : mustWait(input, state);
    case 'CREATE': {
      const denial = mustWait(input, state);
      if (!isOurs || state.kind !== 'held') return denial;
      const message = JSON.stringify(proofOf({ ...input, lock: state.lock }));
      return { ...denial, causes: [{ reason: WEBHOOK.locked, message }] };
    }
  }
}

const deny = (message: string): Denial => ({ allowed: false, code: 403, reason: 'Forbidden', message });

/** A lock mostly lives for less, and Retry-After counts whole seconds. */
const RETRY_AFTER_SECONDS = 1;

/**
 * Refuses until the lock ends. client-go repeats a request by itself, ten times, after a 429 with Retry-After (rest/with_retry.go), and its
 * caller waits meanwhile. virt-controller gets a 403: it creates one target pod at a time in the whole cluster (facts/kubevirt.md §1.5), so
 * the lock's own pod would wait behind the refused one. Our accounts get the proof, which is a 403.
 */
function mustWait(input: ReviewInput, state: LockState): Denial {
  const { request } = input;
  const denial = deny(lockedMessage(request, state));
  if (isKubeVirt(input) || OUR_USERS.includes(request.userInfo.username)) return denial;
  return { ...denial, code: 429, reason: 'TooManyRequests', retryAfterSeconds: RETRY_AFTER_SECONDS };
}

function lockedMessage({ namespace = '', operation, resource }: AdmissionRequest, state: LockState): string {
  const request = { operation, resource: resource.resource, namespace };
  if (state.kind !== 'held') return REFUSAL.unreadableLock.text(request);
  const { migrations, expiresAt: until } = state.lock;
  return REFUSAL.lockedFor.text({
    ...request,
    migrations: migrations.map(({ name }) => name).join(', '),
    until,
  });
}
