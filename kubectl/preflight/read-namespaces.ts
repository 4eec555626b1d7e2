import {
  LISTED_CLAIMS,
  LISTED_MIGRATIONS,
  LISTED_PODS,
  LISTED_WHOLE_LIMIT_RANGES,
} from '../../functions/cluster/listed.ts';
import { PODS_OF_VMS, readPodRejections } from '../../functions/cluster/snapshot.ts';
import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { isFinal, isPending } from '../../functions/domain/migration.ts';
import type {
  KubernetesObject,
  LimitRange,
  Migration,
  Namespace,
  ResourceQuota,
  VirtualMachineInstance,
} from '../../functions/domain/objects.ts';
import { inForce } from '../../functions/domain/policy/policy.ts';
import { keepsState } from '../../functions/domain/sizing/claims.ts';
import { limitsClaims } from '../../functions/domain/sizing/limit-range-refusal.ts';
import { countsMigrations } from '../../functions/domain/verdict/migration-object.ts';
import { needsVolumeClaims } from '../../functions/domain/sizing/optional-reads.ts';
import type { ListedType, Reader } from '../../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import type { State } from '../cluster/state.ts';
import type { NamespaceFacts } from './facts.ts';
import { inNamespaces, LISTED_QUOTAS_TO_CHARGE } from './listed.ts';

export interface WhatMoves {
  /** VMIs by namespace and name. */
  readonly vmis: readonly VirtualMachineInstance[];
  readonly state: Pick<State, 'migrations' | 'vmmrqs' | 'clusterVmmrqs'>;
}

/** Maximum number of namespaces that are read separately; more by lists of the whole cluster, which keep only theirs. */
const FEW = 8;

/** Reads the namespaces of the VMs, with all objects on which their verdicts depend. */
export async function readNamespaces(cluster: Reader, whatMoves: WhatMoves): Promise<NamespaceFacts[]> {
  const { state } = whatMoves;
  const vmis = byNamespace(whatMoves.vmis);
  const migrations = byNamespace(state.migrations);
  const vmmrqs = byNamespace(state.vmmrqs);
  const names = new Set(vmis.keys());
  const [namespaces, quotas, pods, limitRanges] = await Promise.all([
    readObjects(cluster, names),
    listIn(cluster, LISTED_QUOTAS_TO_CHARGE, { names }),
    listIn(cluster, LISTED_PODS, { names, labelSelector: PODS_OF_VMS }),
    listIn(cluster, LISTED_WHOLE_LIMIT_RANGES, { names }),
  ]);
  const [claims, all, events] = await Promise.all([
    listIn(cluster, LISTED_CLAIMS, { names: withClaims(vmis, { quotas, limitRanges }) }),
    listIn(cluster, LISTED_MIGRATIONS, { names: namesWhere(quotas, (own) => own.some(countsMigrations)) }),
    readEvents(cluster, withWaiting(vmis, migrations)),
  ]);
  return namespaces.map((namespace): NamespaceFacts => {
    const { name, labels } = namespace.metadata;
    return {
      namespace,
      vmis: vmis.get(name) ?? [],
      migrations: migrations.get(name) ?? [],
      ended: (all.get(name) ?? []).filter(isFinal),
      quotas: quotas.get(name) ?? [],
      vmmrqs: inForce([...(vmmrqs.get(name) ?? []), ...state.clusterVmmrqs], labels),
      pods: pods.get(name) ?? [],
      limitRanges: limitRanges.get(name) ?? [],
      claims: claims.get(name) ?? [],
      events: events.get(name) ?? [],
    };
  });
}

const namespaceOf = ({ metadata }: KubernetesObject): string => metadata.namespace ?? '';

const byNamespace = <T extends KubernetesObject>(objects: readonly T[]): Map<string, T[]> =>
  Map.groupBy(objects, namespaceOf);

/** Reads the namespaces in the order of the names; omits those that are gone by now. */
async function readObjects(cluster: Reader, names: ReadonlySet<string>): Promise<Namespace[]> {
  if (names.size > FEW) {
    const { items } = await cluster.list(NAMESPACES, {});
    const found = new Map(items.map((namespace) => [namespace.metadata.name, namespace]));
    return [...names].flatMap((name) => found.get(name) ?? []);
  }
  const reads = [...names].map((name) => ignoreNotFound(cluster.get(NAMESPACES, { name })));
  return (await Promise.all(reads)).flatMap((read) => read?.object ?? []);
}

interface ListedIn {
  readonly names: ReadonlySet<string>;
  readonly labelSelector?: string;
}

async function listIn<T extends KubernetesObject>(
  cluster: Reader,
  type: ListedType<T>,
  { names, ...where }: ListedIn,
): Promise<Map<string, T[]>> {
  const lists =
    names.size > FEW
      ? [cluster.list(inNamespaces(type, names), where)]
      : [...names].map((namespace) => cluster.list(type, { ...where, namespace }));
  return byNamespace((await Promise.all(lists)).flatMap(({ items }) => items));
}

/** Namespaces where a VM may need another volume claim that some quota counts, or some LimitRange is about. */
const withClaims = (
  vmis: ReadonlyMap<string, readonly VirtualMachineInstance[]>,
  {
    quotas,
    limitRanges,
  }: {
    readonly quotas: ReadonlyMap<string, readonly ResourceQuota[]>;
    readonly limitRanges: ReadonlyMap<string, readonly LimitRange[]>;
  },
): Set<string> =>
  namesWhere(
    vmis,
    (own, name) =>
      own.some(keepsState) &&
      (needsVolumeClaims(quotas.get(name) ?? []) || (limitRanges.get(name) ?? []).some(limitsClaims)),
  );

/** Namespaces where a VM has a migration that waits: refusals of its pods show their sizes. */
const withWaiting = (
  vmis: ReadonlyMap<string, readonly VirtualMachineInstance[]>,
  migrations: ReadonlyMap<string, readonly Migration[]>,
): Set<string> => namesWhere(vmis, (_, name) => migrations.get(name)?.some(isPending) === true);

const namesWhere = <T>(
  map: ReadonlyMap<string, T>,
  holds: (value: T, name: string) => boolean,
): Set<string> => new Set([...map].filter(([name, value]) => holds(value, name)).map(([name]) => name));

async function readEvents(
  cluster: Reader,
  names: ReadonlySet<string>,
): Promise<ReadonlyMap<string, NamespaceFacts['events']>> {
  const reads =
    names.size > FEW
      ? [readPodRejections(cluster)]
      : [...names].map((name) => readPodRejections(cluster, name));
  return byNamespace((await Promise.all(reads)).flat());
}
