import type { Tenant } from '../demo/scenarios.ts';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../test/cluster/kubevirt/objects/objects.ts';
import { migrateAll } from './cycle.ts';
import { blockedTenant, addHeadroom, setUpTenants, type Environment } from './environment.ts';
import { ratios, type Figure, type Measurements, type MeasureOptions } from './figures.ts';

/** KubeVirt's limits on parallel migrations. */
interface Limits {
  readonly perCluster: number;
  readonly perNode: number;
}

export const DEFAULT_LIMITS: Limits = { perCluster: 5, perNode: 2 };
const LIMITS: readonly Limits[] = [DEFAULT_LIMITS, { perCluster: 20, perNode: 20 }];

interface BurstOf {
  readonly name: string;
  readonly tenants: readonly Tenant[];
  /** The same tenants again, with quotas that refuse nothing. */
  readonly ample: readonly Tenant[];
}

const BURSTS: readonly BurstOf[] = [
  {
    name: '20 namespaces, one each',
    tenants: twenty('bench-burst'),
    ample: twenty('bench-roomy-burst'),
  },
  {
    name: 'one namespace, 10',
    tenants: [blockedTenant('bench-ten', 10)],
    ample: [blockedTenant('bench-roomy-ten', 10)],
  },
];

/** Each burst takes up to 10 s, and so does its partner. */
const MAX_ROUNDS = 5;

/**
 * Measures many migrations at once, in full namespaces and in such with headroom. The two alternate, so that a slow minute of the
 * machine affects both. A migration itself takes 100 ms.
 */
export async function measureBursts(
  environment: Environment,
  { cycles, onProgress }: MeasureOptions,
): Promise<Measurements> {
  onProgress('making 42 namespaces with 60 VMs');
  const ample = BURSTS.flatMap((burst) => burst.ample);
  await setUpTenants(environment, [...BURSTS.flatMap(({ tenants }) => tenants), ...ample]);
  await addHeadroom(
    environment,
    ample.map(({ namespace }) => namespace),
  );
  const rounds = Math.min(cycles, MAX_ROUNDS);
  const figures: Figure[] = [];
  for (const limits of LIMITS) {
    await setLimits(environment, limits);
    for (const burst of BURSTS) {
      const name = `${burst.name}; at most ${limits.perCluster} at once, ${limits.perNode} from a node`;
      figures.push(...figuresOf(name, await runBurst(environment, burst, { rounds, onProgress })));
    }
  }
  return { figures };
}

/** Milliseconds until the last migration has succeeded, in each round. */
interface Times {
  readonly blocked: number[];
  readonly withHeadroom: number[];
}

async function runBurst(
  environment: Environment,
  { name, tenants, ample }: BurstOf,
  { rounds, onProgress }: { readonly rounds: number } & Pick<MeasureOptions, 'onProgress'>,
): Promise<Times> {
  const times: Times = { blocked: [], withHeadroom: [] };
  const run = (of: readonly Tenant[]): Promise<number> =>
    migrateAll(environment, of, ({ succeededMs }) => succeededMs);
  for (let round = 1; round <= rounds; round += 1) {
    onProgress(`burst of ${name}: ${round} of ${rounds}`);
    times.blocked.push(await run(tenants));
    times.withHeadroom.push(await run(ample));
  }
  return times;
}

function figuresOf(name: string, { blocked, withHeadroom }: Times): Figure[] {
  const group = `burst: ${name}`;
  return [
    { group, name: 'blocked: until the last is through', unit: 'ms', samples: blocked },
    { group, name: 'with headroom: until the last has succeeded', unit: 'ms', samples: withHeadroom },
    { group, name: 'the one in the other', unit: '×', samples: ratios(blocked, withHeadroom), target: 1.1 },
  ];
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

function twenty(name: string): Tenant[] {
  return Array.from({ length: 20 }, (_, index) => blockedTenant(`${name}-${index}`));
}
