/** How long an automated migration waits after others of its VMI have failed (facts/kubevirt.md §1.5). Pure. */
import { ANNOTATIONS } from '../objects/names.ts';
import type { Vmim } from '../objects/types.ts';

export interface BackoffView {
  readonly migration: Vmim;
  /** All of the namespace. */
  readonly migrations: readonly Vmim[];
  /** After one failure; doubles with each further one. */
  readonly firstMs: number;
  readonly now: Date;
}

const isAutomated = ({ metadata: { annotations = {} } }: Vmim): boolean =>
  ANNOTATIONS.evacuation in annotations || ANNOTATIONS.workloadUpdate in annotations;

/** Milliseconds until its target pod may be created; 0: now. Only the newest automated migration of a VMI waits. */
export function backoffMsOf({ migration, migrations, firstMs, now }: BackoffView): number {
  if (!isAutomated(migration)) return 0;
  const others = migrations
    .filter((one) => one.spec.vmiName === migration.spec.vmiName && isAutomated(one))
    .filter(({ metadata }) => metadata.uid !== migration.metadata.uid)
    .sort((one, other) => createdAt(other).localeCompare(createdAt(one)));
  if (others.some((other) => createdAt(other) > createdAt(migration))) return 0;
  const failed = untilSuccess(others).filter(
    ({ status, metadata }) => status?.phase === 'Failed' && metadata.deletionTimestamp === undefined,
  );
  const [last] = failed;
  if (last === undefined) return 0;
  const until = failedAt(last) + firstMs * 2 ** (failed.length - 1);
  return Math.max(0, until - now.getTime());
}

/** RFC 3339, whole seconds. */
const createdAt = ({ metadata }: Vmim): string => metadata.creationTimestamp;

/** A success ends the row of failures. */
function untilSuccess(newestFirst: readonly Vmim[]): readonly Vmim[] {
  const success = newestFirst.findIndex(({ status }) => status?.phase === 'Succeeded');
  return success === -1 ? newestFirst : newestFirst.slice(0, success);
}

const failedAt = ({ metadata, status }: Vmim): number =>
  Date.parse(
    status?.phaseTransitionTimestamps?.findLast(({ phase }) => phase === 'Failed')
      ?.phaseTransitionTimestamp ?? metadata.creationTimestamp,
  );
