/** Objects to watch in each cluster, by the runs that are under way. Pure. */
import type { NamedReference, Plan, PlanMigration } from '../../domain/live/forklift.ts';
import { named } from '../../domain/live/reference.ts';
import { runClustersOf, type RunClusters, type RunProvider } from '../run/run-clusters.ts';
import { hasOpenRun, livePlanOf, vmsUnderWay } from '../run/state.ts';

/** A Migration, as events name it. */
export type RunAt = Required<NamedReference> & { readonly uid: string };

/** Objects to watch in one cluster, with the Migrations that go on by them. */
export interface Wanted {
  /** Namespaces of the objects with mtq's label. */
  readonly namespaces: ReadonlySet<string>;
  /** The Migrations by uid, which the label has. */
  readonly runs: ReadonlyMap<string, RunAt>;
  /** The Migrations of each VM on its way, and of its VMI, by `namespace/name` of the VM. */
  readonly vms: ReadonlyMap<string, readonly RunAt[]>;
}

/** A Provider by its name, and as the run began with it: the Plan may name another one by now. */
export type ProviderAt = Required<NamedReference> & { readonly as: RunProvider };

export interface WantedOfProvider extends Wanted {
  readonly provider: ProviderAt;
}

export const keyOfProvider = ({ namespace, name, as }: ProviderAt): string =>
  `${namespace}/${name}/${as.uid}`;

/** Returns the wanted objects, each provider of a run once. */
export function wantedOf(migrations: readonly PlanMigration[], plans: readonly Plan[]): WantedOfProvider[] {
  const byProvider = new Map<string, WantedOfProvider>();
  for (const migration of migrations.filter(hasOpenRun)) {
    const plan = livePlanOf(migration, plans);
    for (const wanted of plan === undefined ? [] : ofRun(migration, plan)) {
      const key = keyOfProvider(wanted.provider);
      byProvider.set(key, { provider: wanted.provider, ...both(byProvider.get(key), wanted) });
    }
  }
  return [...byProvider.values()];
}

export const both = (one: Wanted | undefined, other: Wanted): Wanted => ({
  namespaces: new Set([...(one?.namespaces ?? []), ...other.namespaces]),
  runs: new Map([...(one?.runs ?? []), ...other.runs]),
  vms: new Map([
    ...(one?.vms ?? []),
    ...[...other.vms].map(([vm, runs]): [string, readonly RunAt[]] => [
      vm,
      [...(one?.vms.get(vm) ?? []), ...runs],
    ]),
  ]),
});

function ofRun(migration: PlanMigration, { metadata, spec }: Plan): WantedOfProvider[] {
  const { provider, targetNamespace } = spec;
  const clusters = runClustersOf(migration);
  if (clusters === undefined) return [];
  const { namespace: ofMigration = '', name: nameOfMigration, uid } = migration.metadata;
  const run: RunAt = { namespace: ofMigration, name: nameOfMigration, uid };
  const onSource: string[] = [];
  const onTarget: string[] = [];
  for (const { namespace = '', name = '', newName, targetName } of vmsUnderWay(migration)) {
    if (name === '') continue;
    onSource.push(`${namespace}/${name}`);
    onTarget.push(`${targetNamespace}/${[newName, targetName].find(Boolean) ?? name}`);
  }
  const sources = onSource.map((vm) => vm.split('/')[0] ?? '');
  const wantedIn = (namespaces: readonly string[], vms: readonly string[]): Wanted => ({
    namespaces: new Set(namespaces),
    runs: new Map([[uid, run]]),
    vms: new Map(vms.map((vm) => [vm, [run]])),
  });
  const at = (reference: NamedReference, { provider: as }: RunClusters['source']): ProviderAt => ({
    ...{ namespace: metadata.namespace ?? '', ...named(reference) },
    as,
  });
  return [
    { provider: at(provider.source, clusters.source), ...wantedIn(sources, onSource) },
    { provider: at(provider.destination, clusters.target), ...wantedIn([targetNamespace], onTarget) },
  ];
}
