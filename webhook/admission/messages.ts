import { breakGlassPatch } from '../../functions/domain/break-glass.ts';
import { LIVE_ANNOTATION } from '../../functions/domain/live/names.ts';
import { CLUSTER_PREFIX, POLICY } from '../../functions/domain/names.ts';

/**
 * Every refusal of the guard and the policies: what is refused, why, and what to do. hack/manifests/admission renders those of
 * the policies as CEL; docs/reference.md lists REFUSAL.
 */

/** The parts of a refusal: texts, placeholders for people, or CEL expressions. */
export interface RefusalParts {
  /** The request. */
  readonly operation: string;
  readonly resource: string;
  readonly namespace: string;
  /** Name of a raised ResourceQuota. */
  readonly quota: string;
  /** Names of our keys that the request would change, joined for people. */
  readonly keys: string;
  /** "the quota is raised", or "the namespace is locked". */
  readonly state: string;
  /** The flat token, or UNREADABLE_TOKEN. */
  readonly token: string;
  /** Names of the lock's migrations, and when it ends at the latest. */
  readonly migrations: string;
  readonly until: string;
}

interface Refusal {
  /** The policies and webhooks that refuse with this message. */
  readonly by: readonly string[];
  readonly text: (parts: RefusalParts) => string;
}

type Parts<Name extends keyof RefusalParts> = Pick<RefusalParts, Name>;
type Request = Parts<'operation' | 'resource' | 'namespace'>;

const mustWait = ({ operation, resource, namespace }: Request): string =>
  `${operation} of ${resource} in namespace ${namespace} must wait: `;

const FEW_SECONDS = 'for a few seconds, at most a minute';
const THEN = '; try again then';

/**
 * Clients that create pods themselves repeat a 403 with these words: Argo Workflows, Tekton and Airflow know it by "exceeded quota",
 * Jenkins by "is forbidden: exceeded quota". Any other 403 fails their step for good. KubeVirt sets its condition by them, as after a
 * quota's own refusal, and so tries again when the quota is lowered (facts/kubevirt.md §1.3, §1.4).
 */
export const EXCEEDED = 'until then this is forbidden: exceeded quota';

/** Refusals that tenants and admins meet. */
export const REFUSAL = {
  lockedFor: {
    by: ['guard'],
    text: ({ migrations, until, ...request }: Request & Parts<'migrations' | 'until'>) =>
      `${mustWait(request)}it is locked for the live migration of ${migrations} for a few seconds, ` +
      `until ${until} at the latest; ${EXCEEDED}${THEN}`,
  },
  locked: {
    by: [POLICY.locked],
    text: (request: Request) =>
      `${mustWait(request)}it is locked for a live migration ${FEW_SECONDS}; ${EXCEEDED}${THEN}`,
  },
  unreadableLock: {
    by: ['guard', POLICY.locked],
    text: (request: Request) =>
      `${mustWait(request)}the namespace's lock cannot be read and is being repaired; ${EXCEEDED}; try again in a minute`,
  },
  raised: {
    by: [POLICY.raisedPods],
    text: ({ quota, ...request }: Request & Parts<'quota'>) =>
      `${mustWait(request)}ResourceQuota ${quota} is raised for a live migration ${FEW_SECONDS}; ${EXCEEDED}${THEN}`,
  },
  removedKeys: {
    by: [POLICY.raisedQuotas],
    text: ({ keys, state, ...request }: Request & Parts<'keys' | 'state'>) =>
      `${mustWait(request)}it would remove ${keys} while ${state} for a live migration ${FEW_SECONDS}${THEN}`,
  },
  forgedKeys: {
    by: [POLICY.raisedQuotas, POLICY.verdicts],
    text: ({ keys }: Parts<'keys'>) =>
      `${keys} may only be written by managed-tenant-quota; to copy or restore an object, leave them out`,
  },
  namespaceKeys: {
    by: ['guard', POLICY.lockKeys],
    text: ({ keys, namespace, token }: Parts<'keys' | 'namespace' | 'token'>) =>
      `${keys} may only be changed by managed-tenant-quota: a lock ends by itself within a minute; to copy or restore a namespace, ` +
      `leave them out. Break-glass: a user who may 'override' 'locks.mtq.kubevirt.io' may run: ` +
      `${breakGlassCommand({ namespace, token })} (see docs/operations.md)`,
  },
  namespaceRecords: {
    by: ['guard', POLICY.lockKeys],
    text: ({ keys, namespace }: Parts<'keys' | 'namespace'>) =>
      `${keys} may only be changed by managed-tenant-quota: there is no lock, so a user who may update namespace ${namespace} ` +
      'may remove them; to copy or restore a namespace, leave them out',
  },
  purposeMark: {
    by: [POLICY.purposes],
    text: ({ keys }: Parts<'keys'>) =>
      `${keys} may only be written by KubeVirt and by users who may patch nodes, because VMMRQs may give to evacuations and ` +
      'updates only; to migrate a VM yourself, leave it out',
  },
  reservedNamespace: {
    by: [`${CLUSTER_PREFIX}reserved-namespaces`],
    text: ({ namespace }: Parts<'namespace'>) =>
      `namespace ${namespace} belongs to the cluster and is never locked for a migration; move the VMs to another ` +
      'namespace, or give its ResourceQuota headroom for a second launcher pod',
  },
  unavailable: {
    by: ['guard'],
    text: ({ operation, resource, namespace }: Request) =>
      `the guard of managed-tenant-quota could not read namespace ${namespace} in time, and refuses ${operation} of ` +
      `${resource} because a migration may be under way; try again in a few seconds`,
  },
  noNamespace: {
    by: ['guard'],
    text: ({ namespace }: Parts<'namespace'>) =>
      `namespace ${namespace} was not found: it may have just been deleted; create it and try again`,
  },
} as const satisfies Record<string, Refusal>;

/** Refusals that our own accounts meet where a step or a stolen token writes more than the steps do (POLICY.ownWrites). */
export const OWN_REFUSAL = {
  metadata: ({ keys }: Parts<'keys'>) =>
    `managed-tenant-quota may write nothing but its own keys of metadata, and this request would change ${keys}`,
  spec: ({ kind }: { readonly kind: string }) => `managed-tenant-quota may not change the spec of a ${kind}`,
  quota: ({ operation }: Parts<'operation'>) =>
    `this account may not ${operation} a ResourceQuota: mtq-raise creates one as a dry run, and all other writes go to the status`,
  used: ({ quota }: Parts<'quota'>) =>
    `managed-tenant-quota may not change status.used of ResourceQuota ${quota}`,
  amounts: ({ keys }: Parts<'keys'>) =>
    'this account may set status.hard to spec.hard, and mtq-raise above it with label and grant in a locked namespace: ' +
    `not ${keys}`,
  record: ({ quota }: Parts<'quota'>) =>
    `managed-tenant-quota may not leave ResourceQuota ${quota} raised without label and grant`,
} as const;

/** Refusals that users of live migrations between clusters meet, where that component is installed. */
export const LIVE_REFUSAL = {
  lackingRights: ({ user, rights }: { readonly user: string; readonly rights: string }) =>
    `the run would do more than ${user} may do: ${rights}. Ask an admin for these rights, or let a user who has them create it.`,
  notFound: ({ kind, name }: { readonly kind: string; readonly name: string }) =>
    `${kind} ${name} was not found: create it first, because your rights depend on it`,
  oversized: ({ kib }: { readonly kib: number }) =>
    `you have more than ${kib} KiB of name, groups and other attributes, which are stored to check your rights: write it as another ` +
    'user, or have fewer groups',
  noPlan: () => 'spec.plan must have the name (and namespace) of a Plan',
  badPlan: ({ plan }: { readonly plan: string }) =>
    `Plan ${plan} lacks targetNamespace, vms, or a provider: complete it first, because your rights depend on it`,
  unnamedVm: ({ plan }: { readonly plan: string }) =>
    `Plan ${plan} has VMs of this cluster without name or namespace: add both, because your rights to them are checked by name`,
  badProvider: () => 'the provider has no spec as Forklift defines it',
  badUrl: () =>
    'spec.url must be the https URL of an API server of another cluster, such as https://api.example.com:6443, and no loopback or ' +
    'link-local address; leave it empty for this cluster',
  foreignSecret: () =>
    'spec.secret must be in the namespace of the Provider: copy the Secret there, or leave its namespace out',
  moved: ({ namespace, name }: Parts<'namespace'> & { readonly name: string }) =>
    `VirtualMachine ${name} of namespace ${namespace} has moved to another cluster, and its disks here are out of date: its annotation ` +
    `${LIVE_ANNOTATION.movedTo} says where; start the one there. To start this one on purpose: ` +
    `kubectl annotate vm ${name} -n ${namespace} ${LIVE_ANNOTATION.movedTo}-`,
  arrived: ({ namespace, name }: Parts<'namespace'> & { readonly name: string }) =>
    `the guest of VirtualMachine ${name} of namespace ${namespace} has arrived on another cluster, and the disks here are out of date: ` +
    `its annotation ${LIVE_ANNOTATION.run} says where it is; the condition VMInUse of a Plan with this VM says what to do. To start this one on purpose, once that ` +
    `run is over: kubectl annotate vm ${name} -n ${namespace} ${LIVE_ANNOTATION.run}-`,
  foreign: ({ address }: { readonly address: string }) =>
    `the guard of managed-tenant-quota reviews this for API servers only, and ${address} is none of theirs`,
  unknown: ({ resource }: { readonly resource: string }) =>
    `the guard of managed-tenant-quota does not know ${resource}: correct the rules of its webhooks`,
} as const;

/** The command that removes a lock (breakGlassPatch). */
export function breakGlassCommand({ namespace, token }: Parts<'namespace' | 'token'>): string {
  // Helm would parse two braces in a row as its own syntax.
  const patch = JSON.stringify({ metadata: breakGlassPatch(token) }).replaceAll(/\}(?=\})/g, '} ');
  return `kubectl patch namespace ${namespace} --type=merge -p '${patch}'`;
}
