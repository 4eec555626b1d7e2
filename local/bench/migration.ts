import { lockOf } from '../../functions/domain/lock.ts';
import { FULL_MIGRATIONS, newMigration } from '../kubevirt/objects.ts';
import { now } from '../demo/watching.ts';
import type { Run } from '../demo/traces.ts';
import type { Vmim } from '../kubevirt/types.ts';
import { momentsOf, type Moments } from './moments.ts';
import { isFor, type ApiRequest } from './requests.ts';
import { until, untilQuiet, type Scene } from './scene.ts';

/** One migration from when it is asked for until nobody has anything to do about it any more. */
export interface Course {
  readonly moments: Moments;
  /** Of ours, about this namespace. */
  readonly requests: readonly ApiRequest[];
  /** Of functions, for an event. */
  readonly runs: readonly Run[];
  /** Processes that started while the namespace was locked. */
  readonly startsInLock: number;
}

const NAME = 'migration';

/** Migrates the one VM of a namespace, and removes the migration again. Nothing else may be going on. */
export async function migrateOnce(scene: Scene, namespace: string): Promise<Course> {
  const { admin, watching, requests, traces } = scene;
  const { changes } = watching;
  const used = usedIn(scene, namespace);
  requests.read();
  const from = { change: changes.length, request: requests.requests.length, time: now() };
  await admin.create(FULL_MIGRATIONS, newMigration({ namespace, name: NAME, vmi: 'vm0' }));
  await until(scene, `the migration in ${namespace} is through`, () => isThrough(scene, namespace));
  await until(scene, 'the source pod is gone', () => usedIn(scene, namespace) === used);
  await untilQuiet(scene);

  const moments = momentsOf(changes.slice(from.change), namespace);
  const course: Course = {
    moments,
    requests: requests.requests.slice(from.request).filter(isFor(namespace)),
    runs: traces.runs.filter(({ at, eventType }) => at >= from.time - 1 && eventType !== undefined),
    startsInLock: startsIn(scene, moments),
  };
  await admin.delete(FULL_MIGRATIONS, { namespace, name: NAME });
  await until(scene, 'the migration is gone', () => migrationIn(scene, namespace) === undefined);
  await untilQuiet(scene);
  return course;
}

const migrationIn = ({ watching }: Scene, namespace: string): Vmim | undefined =>
  watching.find('VirtualMachineInstanceMigration', NAME, namespace);

const isThrough = (scene: Scene, namespace: string): boolean => {
  const tenant = scene.watching.find('Namespace', namespace);
  const isFree = tenant !== undefined && lockOf(tenant).kind === 'none';
  return isFree && migrationIn(scene, namespace)?.status?.phase === 'Succeeded';
};

const usedIn = ({ watching }: Scene, namespace: string): string =>
  JSON.stringify(watching.all('ResourceQuota', namespace).map(({ status }) => status?.used));

/** A cold start inside a lock window would make everybody in the namespace wait. */
function startsIn({ traces }: Scene, { locked = Infinity, unlocked = -Infinity }: Moments): number {
  return traces.starts.filter(({ at, ms }) => at > locked && at - ms < unlocked).length;
}
