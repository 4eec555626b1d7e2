import { pause, type Clock } from '../runtime/clock.ts';
import type { ApiServers } from '../domain/api-servers.ts';
import {
  ANNOTATION,
  OTHER_LOCK_MESSAGE,
  POLICY,
  PROOF_QUOTA,
  PROOF_MESSAGE,
  WEBHOOK,
} from '../domain/names.ts';
import { proofIn, type ProvenLock } from '../domain/proof.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { ApiError, describeError, Unreachable } from '../kubernetes/errors.ts';
import { RESOURCE_QUOTAS } from '../kubernetes/resources.ts';

export type ProofResult =
  | {
      readonly proven: true;
      /** The live lock, as the guard read it; undefined: a policy refused, which reads the namespace from a cache. */
      readonly lock: ProvenLock | undefined;
      /** The API server's clock, milliseconds. */
      readonly now: number;
    }
  | {
      readonly proven: false;
      readonly reason: string;
      /** No refusal, or one for another lock: this API server's own cache of namespaces may not have the lock yet. */
      readonly isOpen?: true;
      /** Every other API server proved the lock; these did not answer. */
      readonly unreachable?: readonly string[];
    };

type Creator = Pick<Cluster, 'create'>;

/** What is less than SETTLE_MS or a busy API server asks for; the namespace is locked for as long. */
const RETRY = { withinMs: 1_000, everyMs: 100 };

/**
 * Proves that the guard protects this namespace, in this API server, now. The API server must refuse a dry-run CREATE of a
 * ResourceQuota with 403 for the lock's token, by the guard's webhook or, where there is none, by our policy `locked`.
 * Anything else, a 500 or another policy's refusal included, is no proof. Rejects only when there was no answer at all.
 */
export async function prove(
  cluster: Creator,
  { namespace, token }: Pick<Claim, 'namespace' | 'token'>,
): Promise<ProofResult> {
  const metadata = { name: PROOF_QUOTA, namespace, annotations: { [ANNOTATION.proof]: token } };
  try {
    await cluster.create(RESOURCE_QUOTAS, { metadata, spec: {} }, { dryRun: true });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const now = error.date.getTime();
    const lock = lockIn(error);
    if (lock?.token === token) return { proven: true, lock, now };
    if (lock !== undefined) return { proven: false, reason: lock.withheld ?? NO_LIVE_LOCK };
    if (isPolicyAnswer(error, `${PROOF_MESSAGE}${token}`)) return { proven: true, lock: undefined, now };
    if (isPolicyAnswer(error, OTHER_LOCK_MESSAGE))
      return { proven: false, reason: OTHER_LOCK_MESSAGE, isOpen: true };
    return {
      proven: false,
      reason: `the guard did not refuse the proof; the API server answered: ${describeError(error)}`,
    };
  }
  const reason = 'the guard does not protect this namespace: the API server accepted the proof';
  return { proven: false, reason, isOpen: true };
}

const NO_LIVE_LOCK = 'the guard knows of no live lock of this token';

interface ProofTools<C extends Creator> {
  readonly cluster: C;
  readonly clock: Clock;
}

interface Claim {
  readonly namespace: string;
  readonly token: string;
  /** Whether the namespace is locked by this token: an event may be forged, or late. */
  readonly isHeld: () => Promise<boolean>;
}

/**
 * Requests the proof from every API server, in parallel, because each enforces from its own cache. All must prove. With fewer
 * than two addresses the usual address is used; only then an unanswered request rejects.
 */
export async function proveAtEach(
  { cluster, clock }: ProofTools<Cluster>,
  { addresses }: Pick<ApiServers, 'addresses'>,
  claim: Claim,
): Promise<ProofResult> {
  if (addresses.length < 2) return proveInTime({ cluster, clock }, claim);
  const proofTools = { cluster, clock };
  const proofs = await Promise.all(addresses.map((address) => proveAtAddress(proofTools, address, claim)));
  const missing = proofs.filter((proof) => !proof.proven);
  const unreachable = missing.flatMap((proof) => proof.unreachable ?? []);
  const [open = missing[0]] = missing.filter((proof) => proof.unreachable === undefined);
  if (open?.unreachable !== undefined) return { ...open, unreachable };
  return open ?? withLockFirst(proofs.filter((proof) => proof.proven));
}

/** Prefers the guard's refusal, which carries the lock. */
const withLockFirst = <T extends { lock: unknown }>(proofs: readonly T[]): T => {
  const [any] = proofs.toSorted(
    (one, other) => Number(other.lock !== undefined) - Number(one.lock !== undefined),
  );
  if (any === undefined) throw new Error('no API server was asked');
  return any;
};

async function proveAtAddress(
  { cluster, clock }: ProofTools<Cluster>,
  address: string,
  claim: Claim,
): Promise<ProofResult> {
  try {
    const proof = await proveInTime({ cluster: cluster.at(address), clock }, claim);
    return proof.proven ? proof : { ...proof, reason: `at API server ${address}: ${proof.reason}` };
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    const reason = `API server ${address} cannot be reached: ${describeError(error)}`;
    return { proven: false, reason, unreachable: [address] };
  }
}

/** Repeats `prove` for a short time while no API server refuses and the namespace is locked. */
export async function proveInTime(
  { cluster, clock }: ProofTools<Creator>,
  { namespace, token, isHeld }: Claim,
): Promise<ProofResult> {
  const until = clock.elapsed() + RETRY.withinMs;
  let isKnownHeld = false;
  for (;;) {
    const proof = await prove(cluster, { namespace, token });
    if (proof.proven || proof.isOpen !== true || clock.elapsed() >= until) return proof;
    isKnownHeld ||= await isHeld();
    if (!isKnownHeld) return proof;
    await pause(clock, RETRY.everyMs);
  }
}

/** The lock in our webhook's refusal. */
function lockIn({ code, status }: ApiError): ProvenLock | undefined {
  const cause = (status.details?.causes ?? []).find(({ reason }) => reason === WEBHOOK.locked);
  return code === 403 && cause?.message !== undefined ? proofIn(cause.message) : undefined;
}

/**
 * A policy's refusal names the policy only in its text (apiserver, policy/validating/dispatcher.go), once in the message and
 * once as a cause. A webhook may forge the causes, but its message begins with its own name. Another policy's message begins
 * with that policy's name. So both texts must be ours, whole.
 */
function isPolicyAnswer({ code, status }: ApiError, message: string): boolean {
  const rejection =
    `ValidatingAdmissionPolicy '${POLICY.locked}' with binding '${POLICY.locked}' denied request: ` + message;
  return (
    code === 403 &&
    status.message === `resourcequotas "${PROOF_QUOTA}" is forbidden: ${rejection}` &&
    (status.details?.causes ?? []).some(({ message }) => message === rejection)
  );
}
