import type { Tenant } from '../demo/scenarios.ts';
import { burst, DEFAULT_LIMITS, setLimits, type Burst, type Limits } from './bursts.ts';
import type { Figure } from './figures.ts';
import type { Measuring } from './measuring.ts';
import type { Findings } from './report.ts';
import { makeRoom, type Scene } from './scene.ts';
import { blockedTenant, settleAll } from './tenants.ts';

interface Crowd {
  readonly name: string;
  readonly tenants: readonly Tenant[];
}

const CROWDS: readonly Crowd[] = [
  {
    name: '20 namespaces, one each',
    tenants: Array.from({ length: 20 }, (_, index) => blockedTenant(`bench-burst-${index}`)),
  },
  { name: 'one namespace, 10', tenants: [blockedTenant('bench-ten', 10)] },
];

const LIMITS: readonly Limits[] = [DEFAULT_LIMITS, { perCluster: 20, perNode: 20 }];

/** Many at once, and then the same ones with room: what the blocking costs. A migration itself takes 100 ms. */
export async function measureBursts(scene: Scene, { onProgress }: Measuring): Promise<Findings> {
  onProgress('making 21 namespaces with 30 VMs');
  const tenants = CROWDS.flatMap((crowd) => crowd.tenants);
  await settleAll(scene, tenants);
  const blocked = await burstEach(scene, { onProgress, what: 'blocked' });
  await makeRoom(
    scene,
    tenants.map(({ namespace }) => namespace),
  );
  const free = await burstEach(scene, { onProgress, what: 'with room' });
  const figures = CROWDS.flatMap(({ name }) =>
    LIMITS.flatMap((limits) => {
      const key = keyOf(name, limits);
      return figuresOf(key, blocked.get(key), free.get(key));
    }),
  );
  return { figures };
}

const keyOf = (name: string, { perCluster, perNode }: Limits): string =>
  `${name}; at most ${perCluster} at once, ${perNode} from a node`;

async function burstEach(
  scene: Scene,
  { onProgress, what }: Pick<Measuring, 'onProgress'> & { what: string },
): Promise<Map<string, Burst>> {
  const bursts = new Map<string, Burst>();
  for (const limits of LIMITS) {
    await setLimits(scene, limits);
    for (const { name, tenants } of CROWDS) {
      onProgress(`burst ${what}: ${keyOf(name, limits)}`);
      bursts.set(keyOf(name, limits), await burst(scene, tenants));
    }
  }
  return bursts;
}

function figuresOf(key: string, blocked: Burst | undefined, free: Burst | undefined): Figure[] {
  if (blocked === undefined || free === undefined) return [];
  const group = `burst: ${key}`;
  return [
    { group, name: 'blocked: until the last is through', unit: 'ms', samples: [blocked.through] },
    { group, name: 'with room: until the last is through', unit: 'ms', samples: [free.through] },
    {
      group,
      name: 'the one in the other',
      unit: '×',
      samples: [blocked.through / free.through],
      atMost: 1.5,
    },
    { group, name: 'blocked: until the last lock is gone', unit: 'ms', samples: [blocked.free] },
  ];
}
