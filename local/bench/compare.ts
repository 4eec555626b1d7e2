import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { podEnvironment } from '../in-pod.ts';
import { checkOut, type Checkout } from './checkout.ts';
import { coldStart, type Program } from './cold-start.ts';
import type { Figure, Unit } from './figures.ts';
import { migrateOnce, type Course } from './migration.ts';
import { between } from './moments.ts';
import { toZero } from './processes.ts';
import type { Findings } from './report.ts';
import { makeRoom, startScene, type Scene } from './scene.ts';
import { ratios } from './statistics.ts';
import { blockedTenant, settleAll } from './tenants.ts';

const HERE = fileURLToPath(new URL('../..', import.meta.url));
const TENANT = { release: 'bench-release', roomy: 'bench-roomy' };
const WARM_UP = 2;

export interface CompareOptions {
  /** A commit of this repository, as git names it. */
  readonly ref: string;
  /** How many pairs. */
  readonly releases: number;
  readonly onProgress: (line: string) => void;
}

/** One of the two: an installation of its own, which only works while it is measured. */
interface Side {
  readonly name: string;
  readonly scene: Scene;
  readonly program: Program;
}

/**
 * This tree and another commit, one after the other and in turn who is first, so that what slows the machine down for a while
 * slows both: each figure as it is here, as it is there, and their ratio pair by pair. The stand-ins are this tree's.
 */
export async function compare({ ref, releases, onProgress }: CompareOptions): Promise<Findings> {
  onProgress(`building ${ref}`);
  const other = await checkOut(ref);
  const scenes: Scene[] = [];
  const start = async (options: Parameters<typeof startScene>[0]): Promise<Scene> => {
    const scene = await startScene({ ...options, onProgress });
    scenes.push(scene);
    return scene;
  };
  try {
    const inPods = other.knowsPods;
    const here = await newSide('this tree', await start({ inPods }), { folder: HERE, inPods });
    const there = await newSide(ref, await start({ inPods, tree: other.folder }), {
      folder: other.folder,
      inPods,
    });
    const pairs: Pair[] = [];
    for (let index = 1 - WARM_UP; index <= releases; index += 1) {
      onProgress(index > 0 ? `pair ${index} of ${releases}` : 'warming up');
      const pair = await playPair([here, there], index % 2 === 0);
      if (index > 0) pairs.push(pair);
    }
    return {
      figures: MEASURES.flatMap((measure) => figuresOf(measure, pairs, ref)),
      details: [about(other)],
    };
  } finally {
    for (const scene of scenes) await scene.stop();
    other.remove();
  }
}

async function newSide(
  name: string,
  scene: Scene,
  { folder, inPods }: { folder: string; inPods: boolean },
): Promise<Side> {
  await settleAll(
    scene,
    Object.values(TENANT).map((namespace) => blockedTenant(namespace)),
  );
  await makeRoom(scene, [TENANT.roomy]);
  const account = { namespace: SYSTEM_NAMESPACE, name: SERVICE_ACCOUNT.lower };
  const kubeconfig = await scene.cluster.controlPlane.kubeconfigFor(account);
  const credentials = inPods ? podEnvironment(kubeconfig) : { KUBECONFIG: kubeconfig };
  const env = { STEP: 'lower', LOG_LEVEL: 'error', ...credentials };
  return { name, scene, program: { file: join(folder, 'dist/functions.mjs'), env } };
}

/** What one side did in one round. */
interface Round {
  readonly warm: Course;
  readonly roomy: Course;
  readonly cold: Course;
  readonly startMs: number;
}

type Pair = readonly [here: Round, there: Round];

async function playPair([here, there]: readonly [Side, Side], isOtherFirst: boolean): Promise<Pair> {
  const played = new Map<Side, Round>();
  for (const side of isOtherFirst ? [there, here] : [here, there]) played.set(side, await play(side));
  return [played.get(here), played.get(there)] as [Round, Round];
}

async function play({ scene, program }: Side): Promise<Round> {
  const warm = await migrateOnce(scene, TENANT.release);
  const roomy = await migrateOnce(scene, TENANT.roomy);
  const startMs = await coldStart(program);
  await toZero(scene);
  return { warm, roomy, startMs, cold: await migrateOnce(scene, TENANT.release) };
}

interface Measure {
  readonly name: string;
  readonly unit: Unit;
  readonly of: (round: Round) => number;
}

const MEASURES: readonly Measure[] = [
  { name: 'warm: blocked → target pod', unit: 'ms', of: ({ warm }) => spanOf(warm, 'blocked', 'admitted') },
  { name: 'warm: lock window', unit: 'ms', of: ({ warm }) => spanOf(warm, 'locked', 'unlocked') },
  { name: 'warm: time raised', unit: 'ms', of: ({ warm }) => spanOf(warm, 'enforced', 'lowered') },
  {
    name: 'requests of a release, without Events',
    unit: 'requests',
    of: ({ warm: { requests } }) => requests.filter(({ isEvent }) => !isEvent).length,
  },
  {
    name: 'Events of a release',
    unit: 'requests',
    of: ({ warm: { requests } }) => requests.filter(({ isEvent }) => isEvent).length,
  },
  {
    name: 'requests of a migration that is not blocked',
    unit: 'requests',
    of: ({ roomy }) => roomy.requests.length,
  },
  {
    name: 'from zero: blocked → target pod',
    unit: 'ms',
    of: ({ cold }) => spanOf(cold, 'blocked', 'admitted'),
  },
  { name: 'from zero: lock window', unit: 'ms', of: ({ cold }) => spanOf(cold, 'locked', 'unlocked') },
  { name: 'cold start of one function', unit: 'ms', of: ({ startMs }) => startMs },
];

const spanOf = (
  { moments }: Course,
  from: Parameters<typeof between>[1],
  to: Parameters<typeof between>[2],
): number => between(moments, from, to);

function figuresOf({ name: group, unit, of }: Measure, pairs: readonly Pair[], ref: string): Figure[] {
  const here = pairs.map(([one]) => of(one));
  const there = pairs.map(([, other]) => of(other));
  const ratio = { group, unit: '×', samples: ratios(here, there) } as const;
  return [
    { group, name: 'this tree', unit, samples: here },
    { group, name: ref, unit, samples: there },
    { ...ratio, name: 'ratio, pair by pair' },
    { ...ratio, name: 'ratio', share: 0.25 },
    { ...ratio, name: 'ratio', share: 0.75 },
  ];
}

const about = ({ commit, knowsPods }: Checkout): { heading: string; lines: string[] } => ({
  heading: 'compared with',
  lines: [commit, `both find the API server ${knowsPods ? 'as in a pod' : 'by KUBECONFIG'}`],
});
