import { DONE, fail, write, type LiveWrite, type StepDecision } from '../../domain/live/decision.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import {
  copyOf,
  differingParts,
  keyOf,
  notPortable,
  resourcesOf,
  type Resource,
} from '../../domain/live/resources.ts';
import type { RecordedRun } from '../../domain/live/run-snapshot.ts';
import type { KubernetesObject } from '../../domain/objects.ts';

/** What the VM names: copied where it is not on the target, used as it is where it is the same, and refused where it differs. */
export function decide(snapshot: RecordedRun): StepDecision {
  const { source, target, run, record } = snapshot;
  if (source.setup === undefined || target.setup === undefined || target.vm !== undefined) return DONE;
  const [onSource, onTarget] = [byKey(source.setup.resources), byKey(target.setup.resources)];
  const needed = resourcesOf(source.vm);
  const problems = needed.flatMap((each) => problemOf(each, onSource, onTarget) ?? []);
  if (problems.length > 0) return fail(LIVE_REASON.resourceFailed, problems.join('; '));
  const copies = needed.flatMap((each) => {
    const object = onSource.get(keyOf(each.kind, each.name));
    return object === undefined || onTarget.has(keyOf(each.kind, each.name)) ? [] : [object];
  });
  if (copies.length === 0) return DONE;
  return write(
    `copying ${copies.map(({ kind, metadata }) => keyOf(kind ?? '', metadata.name)).join(', ')} to the target`,
    ...copies.map((object): LiveWrite => ({
      verb: 'create',
      on: 'target',
      object: copyOf(object, run, record.target.namespace),
    })),
  );
}

type ByKey = ReadonlyMap<string, KubernetesObject>;

const byKey = (objects: readonly KubernetesObject[]): ByKey =>
  new Map(objects.map((object) => [keyOf(object.kind ?? '', object.metadata.name), object]));

function problemOf({ kind, name }: Resource, onSource: ByKey, onTarget: ByKey): string | undefined {
  const key = keyOf(kind, name);
  const [source, target] = [onSource.get(key), onTarget.get(key)];
  if (source === undefined) return target === undefined ? `${key} is on neither cluster` : undefined;
  if (target === undefined) return notPortable(source);
  const parts = differingParts(source, target);
  if (parts.length === 0) return undefined;
  return `${key} on the target differs in ${parts.join(', ')}: rename one of them, or make them the same`;
}
