import { DONE, fail, write, type Fail, type LiveWrite, type StepDecision } from '../run/decision.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { copyOf, keyOfObject, resourceProblems, resourcesOf } from '../on-target/resources.ts';
import type { RecordedRun } from '../run/snapshot.ts';

/**
 * Fails if an object that the VM names is missing, or differs on the target. Checked before its disks are made too, which may take long.
 */
export function unusable({ source, target }: RecordedRun): Fail | undefined {
  const [onSource, onTarget] = [source.setup?.resources ?? [], target.setup?.resources ?? []];
  const problems = resourceProblems(resourcesOf(source.vm), { onSource, onTarget });
  return problems.length === 0 ? undefined : fail(LIVE_REASON.resourceFailed, problems.join('; '));
}

/** Copies the objects that the VM names to the target: an equal one there is used as it is, and a different one is refused. */
export function decide(snapshot: RecordedRun): StepDecision {
  const { source, target, run, record } = snapshot;
  if (source.setup === undefined || target.setup === undefined || target.vm !== undefined) return DONE;
  const { resources: onSource } = source.setup;
  const { resources: onTarget } = target.setup;
  const problem = unusable(snapshot);
  if (problem !== undefined) return problem;
  const there = new Set(onTarget.map(keyOfObject));
  const copies = onSource.filter((object) => !there.has(keyOfObject(object)));
  if (copies.length === 0) return DONE;
  return write(
    `copying ${copies.map(keyOfObject).join(', ')} to the target`,
    ...copies.map((object): LiveWrite => ({
      verb: 'create',
      on: 'target',
      object: copyOf(object, run, record.target.namespace),
    })),
  );
}
