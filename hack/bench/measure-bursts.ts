import type { Tenant } from '../demo/scenarios.ts';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../test/cluster/kubevirt/objects.ts';
import { migrateAll } from './cycle.ts';
import { blockedTenant, addHeadroom, setUpTenants, type Environment } from './environment.ts';
import { ratios, type Measurements, type MeasureOptions } from './figures.ts';

/** KubeVirt's limits on parallel migrations. */
interface Limits {
  readonly perCluster: number;
  readonly perNode: number;
}

export const DEFAULT_LIMITS: Limits = { perCluster: 5, perNode: 2 };
const LIMITS: readonly Limits[] = [DEFAULT_LIMITS, { perCluster: 20, perNode: 20 }];

const BURSTS: readonly { name: string; tenants: readonly Tenant[] }[] = [
  {
    name: '20 namespaces, one each',
    tenants: Array.from({ length: 20 }, (_, index) => blockedTenant(`bench-burst-${index}`)),
  },
  { name: 'one namespace, 10', tenants: [blockedTenant('bench-ten', 10)] },
];

/** Many migrations at once: blocked, and then the same ones with headroom. A migration itself takes 100 ms. */
export async function measureBursts(
  environment: Environment,
  { onProgress }: MeasureOptions,
): Promise<Measurements> {
  onProgress('making 21 namespaces with 30 VMs');
  const tenants = BURSTS.flatMap((burst) => burst.tenants);
  await setUpTenants(environment, tenants);
  const blocked = await runBursts(environment, (name) => onProgress(`burst blocked: ${name}`));
  await addHeadroom(
    environment,
    tenants.map(({ namespace }) => namespace),
  );
  const ample = await runBursts(environment, (name) => onProgress(`burst with headroom: ${name}`));
  const figures = [...blocked].flatMap(([name, ms]) => {
    const group = `burst: ${name}`;
    const samples = [ms];
    const withHeadroom = [ample.get(name) ?? NaN];
    return [
      { group, name: 'blocked: until the last is through', unit: 'ms', samples },
      { group, name: 'with headroom: until the last has succeeded', unit: 'ms', samples: withHeadroom },
      { group, name: 'the one in the other', unit: '×', samples: ratios(samples, withHeadroom), target: 1.1 },
    ] as const;
  });
  return { figures };
}

/** Milliseconds until the last migration has succeeded, by the burst's name. */
async function runBursts(
  environment: Environment,
  onBurst: (name: string) => void,
): Promise<Map<string, number>> {
  const results = new Map<string, number>();
  for (const limits of LIMITS) {
    await setLimits(environment, limits);
    for (const { name: burst, tenants } of BURSTS) {
      const name = `${burst}; at most ${limits.perCluster} at once, ${limits.perNode} from a node`;
      onBurst(name);
      results.set(name, await migrateAll(environment, tenants, ({ succeededMs }) => succeededMs));
    }
  }
  return results;
}

export async function setLimits({ admin }: Environment, { perCluster, perNode }: Limits): Promise<void> {
  const kubevirt = newKubeVirt({
    parallelMigrationsPerCluster: perCluster,
    parallelOutboundMigrationsPerNode: perNode,
  });
  const address = { namespace: 'kubevirt', name: 'kubevirt' };
  const { items } = await admin.list(FULL_KUBEVIRTS, { namespace: address.namespace });
  if (items.length === 0) await admin.create(FULL_KUBEVIRTS, kubevirt);
  else await admin.patch(FULL_KUBEVIRTS, address, { merge: { spec: kubevirt.spec } });
}
