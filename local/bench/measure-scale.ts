import { setTimeout as delay } from 'node:timers/promises';
import { now } from '../demo/watching.ts';
import { burst, DEFAULT_LIMITS, setLimits } from './bursts.ts';
import type { Figure } from './figures.ts';
import { migrateOnce } from './migration.ts';
import { between } from './moments.ts';
import { residentMiB } from './processes.ts';
import type { Findings } from './report.ts';
import { startScene, type Scene } from './scene.ts';
import { blockedTenant, settleAll } from './tenants.ts';
import { openWatches } from './watches.ts';

const IDLE_MS = 3_000;
/** More at once than this are not asked of the machine: what they would wait for is its two cores. */
const MOST_AT_ONCE = 100;

export interface ScaleOptions {
  /** Numbers of namespaces, each with a VMMRQ and a VM. */
  readonly sizes: readonly number[];
  /** How often one alone is migrated at each size. */
  readonly releases: number;
  readonly onProgress: (line: string) => void;
}

/** One migration alone among so many namespaces, and then one in each of them at once. */
export async function measureScale({ sizes, releases, onProgress }: ScaleOptions): Promise<Findings> {
  const scene = await startScene({ onProgress });
  try {
    await setLimits(scene, DEFAULT_LIMITS);
    const figures: Figure[] = [];
    const tenants = Array.from({ length: Math.max(...sizes) }, (_, index) => blockedTenant(`bench-${index}`));
    let made = 0;
    for (const size of sizes.toSorted((one, other) => one - other)) {
      onProgress(`${size} namespaces`);
      await settleAll(scene, tenants.slice(made, size));
      made = size;
      figures.push(...(await measureSize(scene, tenants.slice(0, size), releases)));
    }
    return { figures };
  } finally {
    await scene.stop();
  }
}

async function measureSize(
  scene: Scene,
  tenants: ReturnType<typeof blockedTenant>[],
  releases: number,
): Promise<Figure[]> {
  const group = `${tenants.length} namespaces with a VMMRQ (at most ${DEFAULT_LIMITS.perCluster} migrations at once)`;
  const figures = [
    ...(await measureOneAlone(scene, tenants, releases)),
    ...(tenants.length > MOST_AT_ONCE ? [] : await measureOneInEach(scene, tenants)),
    ...(await measureAtRest(scene)),
  ];
  return figures.map((figure) => ({ group, ...figure }));
}

type Measured = Omit<Figure, 'group'>;

async function measureOneAlone(
  scene: Scene,
  tenants: ReturnType<typeof blockedTenant>[],
  releases: number,
): Promise<Measured[]> {
  const alone = [];
  for (let index = 0; index < releases; index += 1) {
    alone.push(await migrateOnce(scene, tenants[0]?.namespace ?? ''));
  }
  return [
    {
      name: 'one alone: blocked → target pod',
      unit: 'ms',
      samples: alone.map(({ moments }) => between(moments, 'blocked', 'admitted')),
    },
    {
      name: 'one alone: requests',
      unit: 'requests',
      samples: alone.map((course) => course.requests.length),
    },
  ];
}

async function measureOneInEach(
  scene: Scene,
  tenants: ReturnType<typeof blockedTenant>[],
): Promise<Measured[]> {
  const { requests } = scene.requests;
  const [from, began] = [requests.length, now()];
  const { through, free } = await burst(scene, tenants);
  scene.requests.read();
  const ours = requests.slice(from).filter(({ at }) => at >= began);
  const events = ours.filter(({ isEvent }) => isEvent).length;
  const each = (total: number): number[] => [total / tenants.length];
  return [
    { name: 'one in each: until the last is through', unit: 'ms', samples: [through] },
    { name: 'one in each: until the last lock is gone', unit: 'ms', samples: [free] },
    { name: 'one in each: the time of each', unit: 'ms', samples: each(through) },
    {
      name: 'one in each: requests of each, without Events',
      unit: 'requests',
      samples: each(ours.length - events),
    },
    { name: 'one in each: Events of each', unit: 'requests', samples: each(events) },
  ];
}

async function measureAtRest({ cluster }: Scene): Promise<Measured[]> {
  await delay(IDLE_MS);
  return [
    {
      name: 'resident memory of the guard, idle again',
      unit: 'MiB',
      samples: [residentMiB(cluster.guard().pid)],
    },
    {
      name: 'watches that are open (guard and source)',
      unit: 'times',
      samples: [openWatches(cluster.controlPlane.auditLog)],
    },
  ];
}
