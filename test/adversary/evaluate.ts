import type { KubernetesObject, ResourceList, ResourceQuota } from '../../functions/domain/objects.ts';
import { grantOf } from '../../functions/domain/quota/grant.ts';
import { parseQuantity } from '../../functions/domain/quantity.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import { heldBy, type Version } from '../support/tenant/history.ts';
import { provenBy, type Entry } from './evidence.ts';
import { BALLAST, BALLAST_MEMORY, resizer } from './tenants/pods.ts';

/** A new or resized pod that admission let in while the namespace was locked, or above an original amount. */
export interface AdmittedPod {
  readonly what: string;
  readonly revision: number;
  readonly received: string;
  /** Token of the current or last lock, and when the API server answered its proof, if it did. */
  readonly token: string;
  readonly proven: string | undefined;
  /** The quota controller enforced or counted more than the original of a key that this pod is charged for. */
  readonly isAbove: boolean;
}

/** While one quota was enforced above its original. */
export interface Window {
  /** Milliseconds since 1970, by the API servers' clock. */
  readonly from: number;
  readonly until: number;
  /** The lock that the quota was raised for, and whether its proof had been answered by then. */
  readonly token: string;
  readonly isProven: boolean;
}

export interface Evaluation {
  /** Violations: admitted although the API server received the request after it had answered the proof. */
  readonly late: readonly AdmittedPod[];
  /** Admitted, but received before the proof was answered: the lock cannot stop these. */
  readonly podsOutsideLock: readonly AdmittedPod[];
  /** The times in which status.hard was above an original. */
  readonly windows: readonly Window[];
  /** The tenant's requests for pods and their growth that were received in those windows. */
  readonly inWindows: number;
  readonly requests: number;
}

/** Evaluates the tenant's requests against every version of its namespace's objects and the audit logs. */
export function evaluate(versions: readonly Version[], entries: readonly Entry[], user: string): Evaluation {
  const theirs = entries.filter(
    (entry) => entry.user.username === user && entry.objectRef.resource === 'pods',
  );
  const asked = theirs.filter(({ verb }) => verb !== 'delete');
  const proofs = proofsIn(entries);
  const admitted = admittedPodsIn(versions, { proofs, done: doneBy(asked) });
  const windows = windowsIn(versions, { entries, proofs });
  const isLate = ({ proven, received }: AdmittedPod): boolean => proven !== undefined && received > proven;
  return {
    late: admitted.filter(isLate),
    podsOutsideLock: admitted.filter((one) => !isLate(one)),
    windows,
    inWindows: asked.filter((entry) => isIn(windows, Date.parse(entry.requestReceivedTimestamp))).length,
    requests: asked.length,
  };
}

const isIn = (windows: readonly Window[], at: number): boolean =>
  windows.some(({ from, until }) => from <= at && at < until);

/** When the first proof of each token was answered. */
function proofsIn(entries: readonly Entry[]): Map<string, string> {
  const proofs = new Map<string, string>();
  for (const entry of entries) {
    const token = provenBy(entry);
    if (token !== undefined && !proofs.has(token)) proofs.set(token, entry.stageTimestamp);
  }
  return proofs;
}

/**
 * Requests by the pod name that they created, or the field manager of their resize. A request that was answered with an error
 * may have succeeded too. Of several requests the successful one counts, or else the last.
 */
function doneBy(asked: readonly Entry[]): Map<string, Entry> {
  const real = asked.filter(({ requestURI }) => !requestURI.includes('dryRun'));
  const isSuccess = ({ responseStatus }: Entry): boolean => responseStatus.code < 300;
  const inOrder = [...real.filter((entry) => !isSuccess(entry)), ...real.filter(isSuccess)];
  return new Map(inOrder.map((entry) => [madeBy(entry), entry]));
}

function madeBy({ objectRef: { name = '', subresource }, requestURI }: Entry): string {
  if (subresource !== 'resize') return name;
  return new URL(requestURI, 'https://localhost').searchParams.get('fieldManager') ?? name;
}

interface Known {
  readonly proofs: ReadonlyMap<string, string>;
  readonly done: ReadonlyMap<string, Entry>;
}

/** Replays the versions in order: each new or resized pod, with the lock and the raise at that revision. */
function admittedPodsIn(versions: readonly Version[], { proofs, done }: Known): AdmittedPod[] {
  const state = new State();
  return versions.flatMap((version) => {
    state.apply(version);
    const made = state.madeBy(version);
    const entry = made === undefined ? undefined : done.get(made.what);
    if (made === undefined || entry === undefined) return [];
    const isAbove = state.isAbove(made.charges);
    if (!state.isLocked && !isAbove) return [];
    const { token } = state;
    const { revision } = version;
    const received = entry.requestReceivedTimestamp;
    return [{ what: made.what, revision, received, token, proven: proofs.get(token), isAbove }];
  });
}

/** What a tenant changed with one version of a pod. */
interface Made {
  /** The name of a new pod, or the field manager of a resize. */
  readonly what: string;
  /** The quota keys for which the pod is charged more than before. */
  readonly charges: readonly string[];
}

/** A namespace at one revision. */
class State {
  /** Token of the current or last lock. */
  token = '';
  isLocked = false;
  readonly #quotas = new Map<string, { original: ResourceList; quota: ResourceQuota }>();
  readonly #requests = new Map<string, ResourceList>();

  /** Whether one of these keys is enforced or used above the original of some quota. */
  isAbove(keys: readonly string[]): boolean {
    return [...this.#quotas.values()].some(({ original, quota: { status } }) => {
      const concerned = Object.fromEntries(Object.entries(original).filter(([key]) => keys.includes(key)));
      return exceeds(status?.hard, concerned) || exceeds(status?.used, concerned);
    });
  }

  apply({ kind, gone, object }: Version): void {
    if (kind === NAMESPACES.kind) {
      const lock = heldBy(object);
      this.isLocked = lock !== undefined;
      this.token = lock?.token ?? this.token;
    } else if (kind === RESOURCE_QUOTAS.kind) this.#setQuota(object as ResourceQuota, gone);
  }

  /** undefined: nothing new. */
  madeBy({ kind, gone, object }: Version): Made | undefined {
    if (kind !== PODS.kind || gone) return undefined;
    const { uid, name } = object.metadata;
    const requests = requestsOf(object);
    const before = this.#requests.get(uid);
    this.#requests.set(uid, requests);
    if (before === undefined) return { what: name, charges: CHARGED };
    if (name !== BALLAST || before['memory'] === requests['memory']) return undefined;
    const grew = parseQuantity(requests['cpu'] ?? '0') > parseQuantity(before['cpu'] ?? '0');
    const what = resizer(BALLAST_MEMORY - Number(requests['memory']));
    return { what, charges: grew ? ['requests.cpu'] : [] };
  }

  #setQuota(quota: ResourceQuota, gone: boolean): void {
    const { uid } = quota.metadata;
    const original = this.#quotas.get(uid)?.original ?? quota.spec.hard ?? {};
    if (gone) this.#quotas.delete(uid);
    else this.#quotas.set(uid, { original, quota });
  }
}

/** The keys of the tenants' quotas that every pod is charged for. */
const CHARGED = ['pods', 'requests.cpu', 'requests.memory'];

interface Sized extends KubernetesObject {
  spec?: { containers: { resources?: { requests?: ResourceList } }[] };
}

const requestsOf = (pod: Sized): ResourceList => pod.spec?.containers[0]?.resources?.requests ?? {};

const exceeds = (amounts: ResourceList | undefined, original: ResourceList): boolean =>
  Object.entries(original).some(([key, text]) => parseQuantity(amounts?.[key] ?? '0') > parseQuantity(text));

/** What the audit logs show. */
interface Evidence {
  readonly entries: readonly Entry[];
  readonly proofs: ReadonlyMap<string, string>;
}

/** For each quota: from the request that raised status.hard to the answer of the request that restored it. */
function windowsIn(versions: readonly Version[], { entries, proofs }: Evidence): Window[] {
  const writes = new Map(
    entries
      .filter(
        ({ objectRef, responseStatus }) =>
          objectRef.resource === 'resourcequotas' && responseStatus.code === 200,
      )
      .map((entry) => [`${entry.objectRef.name ?? ''} ${entry.objectRef.resourceVersion ?? ''}`, entry]),
  );
  const quotas = Map.groupBy(
    versions.filter(({ kind, gone }) => kind === RESOURCE_QUOTAS.kind && !gone),
    ({ object }) => object.metadata.uid,
  );
  return [...quotas.values()].flatMap((ofOne) =>
    windowsOf(
      ofOne.map(({ object }) => object as ResourceQuota),
      { writes, proofs },
    ),
  );
}

interface Writes {
  readonly writes: ReadonlyMap<string, Entry>;
  readonly proofs: ReadonlyMap<string, string>;
}

function windowsOf(quotas: readonly ResourceQuota[], { writes, proofs }: Writes): Window[] {
  const original = quotas[0]?.spec.hard ?? {};
  const isRaised = ({ status }: ResourceQuota): boolean => exceeds(status?.hard, original);
  const madeFrom = ({ metadata: { name, resourceVersion } }: ResourceQuota): Entry => {
    const write = writes.get(`${name} ${resourceVersion}`);
    if (write === undefined)
      throw new Error(`the audit logs do not say what followed ${name} ${resourceVersion}`);
    return write;
  };
  const windows: Window[] = [];
  let raised: { by: Entry; token: string } | undefined;
  for (const [index, quota] of quotas.entries()) {
    const before = quotas[index - 1];
    if (before === undefined || isRaised(quota) === (raised !== undefined)) continue;
    const by = madeFrom(before);
    if (raised === undefined) raised = { by, token: tokenOf(quota) };
    else {
      windows.push(windowOf(raised, by, proofs));
      raised = undefined;
    }
  }
  return windows;
}

function windowOf(
  { by, token }: { readonly by: Entry; readonly token: string },
  loweredBy: Entry,
  proofs: ReadonlyMap<string, string>,
): Window {
  const { requestReceivedTimestamp: from } = by;
  const proven = proofs.get(token);
  const isProven = proven !== undefined && proven < from;
  return { from: Date.parse(from), until: Date.parse(loweredBy.stageTimestamp), token, isProven };
}

function tokenOf(quota: ResourceQuota): string {
  const state = grantOf(quota);
  return state.kind === 'held' ? state.grant.token : '';
}
