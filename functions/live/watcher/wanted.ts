/** Objects to watch in each cluster, by the runs that are under way. Pure. */
import type { NamedReference, Plan, PlanMigration } from '../../domain/live/forklift.ts';
import { named } from '../../domain/live/reference.ts';
import { hasOpenRun, livePlanOf, vmsUnderWay } from '../run/state.ts';

/** Objects to watch in one cluster. */
export interface Wanted {
  /** Namespaces of the objects with mtq's label. */
  readonly namespaces: ReadonlySet<string>;
  /** "namespace/name" of the VMs on their way, and of their VMIs. */
  readonly vms: ReadonlySet<string>;
}

export interface WantedOfProvider extends Wanted {
  readonly provider: Required<NamedReference>;
}

/** Returns the wanted objects, each provider of a run once. */
export function wantedOf(migrations: readonly PlanMigration[], plans: readonly Plan[]): WantedOfProvider[] {
  const byProvider = new Map<string, WantedOfProvider>();
  for (const migration of migrations.filter(hasOpenRun)) {
    const plan = livePlanOf(migration, plans);
    for (const wanted of plan === undefined ? [] : ofRun(migration, plan)) {
      const { namespace, name } = wanted.provider;
      const key = `${namespace}/${name}`;
      byProvider.set(key, { provider: wanted.provider, ...both(byProvider.get(key), wanted) });
    }
  }
  return [...byProvider.values()];
}

export const both = (one: Wanted | undefined, other: Wanted): Wanted => ({
  namespaces: new Set([...(one?.namespaces ?? []), ...other.namespaces]),
  vms: new Set([...(one?.vms ?? []), ...other.vms]),
});

function ofRun(migration: PlanMigration, { metadata, spec }: Plan): WantedOfProvider[] {
  const { provider, targetNamespace } = spec;
  const onSource: string[] = [];
  const onTarget: string[] = [];
  for (const { namespace = '', name = '', newName, targetName } of vmsUnderWay(migration)) {
    if (name === '') continue;
    onSource.push(`${namespace}/${name}`);
    onTarget.push(`${targetNamespace}/${[newName, targetName].find(Boolean) ?? name}`);
  }
  const sources = onSource.map((vm) => vm.split('/')[0] ?? '');
  return [
    { provider: at(provider.source, metadata), namespaces: new Set(sources), vms: new Set(onSource) },
    {
      provider: at(provider.destination, metadata),
      namespaces: new Set([targetNamespace]),
      vms: new Set(onTarget),
    },
  ];
}

const at = (reference: NamedReference, { namespace = '' }: Plan['metadata']): Required<NamedReference> => ({
  namespace,
  ...named(reference),
});
