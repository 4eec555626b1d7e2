import { now } from '../demo/watching.ts';
import type { Figure } from './figures.ts';
import { startFloor } from './floor.ts';
import type { Measuring } from './measuring.ts';
import type { Findings } from './report.ts';
import { migrateOnce, type Course } from './migration.ts';
import { between, type Moments } from './moments.ts';
import { toZero } from './processes.ts';
import { FLOOR } from './requests.ts';
import { makeRoom, type Scene } from './scene.ts';
import { detailsOf, countLines } from './profile.ts';
import { ratios } from './statistics.ts';
import { blockedTenant, settleAll } from './tenants.ts';

const TENANT = { floor: 'bench-floor', release: 'bench-release', roomy: 'bench-roomy' };
/** Not counted: caches fill, code gets warm. */
const WARM_UP = 2;

/** The incumbent's, on other hardware with its own floor of 35 ms: as a ratio it can be a target here. */
const WINDOW_IN_FLOORS = 130 / 35;

/** One blocked migration, again and again: by the floor, by us, and one that is not blocked; then by us from zero. */
export async function measureReleases(scene: Scene, { releases, onProgress }: Measuring): Promise<Findings> {
  onProgress('making three namespaces with a VM each');
  await settleAll(
    scene,
    Object.values(TENANT).map((namespace) => blockedTenant(namespace)),
  );
  await makeRoom(scene, [TENANT.roomy]);
  const stopFloor = await newFloor(scene);

  const rounds: Round[] = [];
  for (let index = 1 - WARM_UP; index <= releases; index += 1) {
    if (index > 0) onProgress(`warm release ${index} of ${releases}`);
    const round = await playRound(scene);
    if (index > 0) rounds.push(round);
  }
  await stopFloor();

  const cold: Course[] = [];
  for (let index = 1; index <= releases; index += 1) {
    onProgress(`cold release ${index} of ${releases}`);
    await toZero(scene);
    cold.push(await migrateOnce(scene, TENANT.release));
  }
  return {
    figures: [
      ...floorFigures(rounds),
      ...warmFigures(rounds),
      ...coldFigures(cold),
      ...requestFigures(rounds),
    ],
    details: [
      ...detailsOf(
        'a warm release',
        rounds.map(({ release }) => release),
      ),
      ...detailsOf('a release from zero', cold),
      { heading: 'requests of one migration that is not blocked', lines: countLines(rounds[0]?.roomy) },
    ],
  };
}

/** Nobody of ours works for this one. */
async function newFloor(scene: Scene): Promise<() => Promise<void>> {
  const { cluster, watching, silence } = scene;
  silence(TENANT.floor);
  const [quota] = watching.all('ResourceQuota', TENANT.floor);
  if (quota === undefined) throw new Error(`there is no quota in ${TENANT.floor}`);
  const raised = { ...quota.spec.hard, 'requests.cpu': '10', 'requests.memory': '10Gi' };
  return startFloor({ kubeconfig: cluster.controlPlane.adminKubeconfig, quota, raised });
}

/** One after the other: in pairs, what slows the machine down drops out. */
interface Round {
  readonly floor: Course;
  readonly floorRequests: number;
  readonly release: Course;
  readonly roomy: Course;
}

async function playRound(scene: Scene): Promise<Round> {
  const began = now();
  const floor = await migrateOnce(scene, TENANT.floor);
  const floorRequests = scene.requests.requests.filter(
    ({ account, at }) => account === FLOOR && at >= began,
  ).length;
  const release = await migrateOnce(scene, TENANT.release);
  return { floor, floorRequests, release, roomy: await migrateOnce(scene, TENANT.roomy) };
}

const spans = (courses: readonly Course[], from: keyof Moments, to: keyof Moments): number[] =>
  courses.map(({ moments }) => between(moments, from, to));

function floorFigures(rounds: readonly Round[]): Figure[] {
  const group = 'floor: two PATCHes on two watches, no lock, no record';
  const courses = rounds.map(({ floor }) => floor);
  return [
    { group, name: 'blocked → target pod', unit: 'ms', samples: spans(courses, 'blocked', 'admitted') },
    {
      group,
      name: "of it the stand-in's: quota enforced → target pod",
      unit: 'ms',
      samples: spans(courses, 'enforced', 'admitted'),
    },
    { group, name: 'time raised', unit: 'ms', samples: spans(courses, 'enforced', 'lowered') },
    { group, name: 'requests', unit: 'requests', samples: rounds.map(({ floorRequests }) => floorRequests) },
  ];
}

function warmFigures(rounds: readonly Round[]): Figure[] {
  const group = 'one release, warm';
  const courses = rounds.map(({ release }) => release);
  const floor = spans(
    rounds.map((round) => round.floor),
    'blocked',
    'admitted',
  );
  const admitted = spans(courses, 'blocked', 'admitted');
  const window = spans(courses, 'locked', 'unlocked');
  return [
    { group, name: 'blocked → target pod', unit: 'ms', samples: admitted },
    { group, name: 'the same, in floors', unit: '×', samples: ratios(admitted, floor), atMost: 3.5 },
    { group, name: 'lock window', unit: 'ms', samples: window },
    {
      group,
      name: 'the same, in floors',
      unit: '×',
      samples: ratios(window, floor),
      atMost: WINDOW_IN_FLOORS,
    },
    { group, name: 'time raised', unit: 'ms', samples: spans(courses, 'enforced', 'lowered') },
    {
      group,
      name: "the stand-in's: quota enforced → target pod",
      unit: 'ms',
      samples: spans(courses, 'enforced', 'admitted'),
    },
  ];
}

function coldFigures(courses: readonly Course[]): Figure[] {
  const group = 'one release, all functions start from zero';
  return [
    { group, name: 'blocked → target pod', unit: 'ms', samples: spans(courses, 'blocked', 'admitted') },
    { group, name: 'lock window', unit: 'ms', samples: spans(courses, 'locked', 'unlocked') },
    { group, name: 'time raised', unit: 'ms', samples: spans(courses, 'enforced', 'lowered') },
    {
      group,
      name: 'cold starts inside the lock window',
      unit: 'times',
      samples: courses.map(({ startsInLock }) => startsInLock),
      share: 1,
      atMost: 0,
    },
  ];
}

function requestFigures(rounds: readonly Round[]): Figure[] {
  const group = 'API requests of functions and guard (audit log)';
  const releases = rounds.map(({ release }) => release);
  const roomy = rounds.map((round) => round.roomy);
  return [
    {
      group,
      name: 'one release: blocked → unlocked, without Events',
      unit: 'requests',
      samples: releases.map(({ requests, moments: { blocked = NaN, unlocked = NaN } }) => {
        const isWithin = (at: number): boolean => at >= blocked && at <= unlocked;
        return requests.filter(({ at, isEvent }) => isWithin(at) && !isEvent).length;
      }),
      atMost: 32,
    },
    {
      group,
      name: 'one release: Events',
      unit: 'requests',
      samples: releases.map(({ requests }) => requests.filter(({ isEvent }) => isEvent).length),
      atMost: 8,
    },
    {
      group,
      name: 'one release: the rest of the migration, before and after',
      unit: 'requests',
      samples: releases.map(({ requests, moments: { blocked = NaN, unlocked = NaN } }) => {
        const isOutside = (at: number): boolean => at < blocked || at > unlocked;
        return requests.filter(({ at, isEvent }) => isOutside(at) && !isEvent).length;
      }),
    },
    {
      group,
      name: 'one migration that is not blocked',
      unit: 'requests',
      samples: roomy.map(({ requests }) => requests.length),
    },
    {
      group,
      name: 'the same, for each wake of a function',
      unit: '×',
      samples: ratios(
        roomy.map(({ requests }) => requests.length),
        roomy.map(({ runs }) => runs.length),
      ),
      atMost: 1,
    },
  ];
}
