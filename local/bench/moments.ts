import type { ResourceQuota } from '../../functions/domain/objects.ts';
import type { What } from '../demo/happenings/happening.ts';
import { happeningsOf } from '../demo/happenings/of-change.ts';
import type { Change } from '../demo/watching.ts';

/** When what happened to the one migration of a namespace; milliseconds since 1970, as a watch heard of it. */
export interface Moments {
  readonly asked: number | undefined;
  /** KubeVirt says that a quota refuses the target pod. */
  readonly blocked: number | undefined;
  readonly locked: number | undefined;
  /** status.hard was changed for the first time: the next try of KubeVirt's counts. */
  readonly enforced: number | undefined;
  /** The target pod is there. */
  readonly admitted: number | undefined;
  /** status.hard was changed for the last time: it is the original again. */
  readonly lowered: number | undefined;
  readonly unlocked: number | undefined;
  readonly succeeded: number | undefined;
}

/** `changes`: everything since the migration was asked for. */
export function momentsOf(changes: readonly Change[], namespace: string): Moments {
  const happened = changes.flatMap(happeningsOf).filter((each) => each.namespace === namespace);
  const first = (wanted: What): number | undefined => happened.find(({ what }) => what === wanted)?.at;
  const enforcing = changes.filter((change) => isEnforcing(change, namespace));
  return {
    asked: first('asked'),
    blocked: first('blocked'),
    locked: first('locked'),
    enforced: enforcing[0]?.at,
    admitted: first('admitted'),
    lowered: enforcing.at(-1)?.at,
    unlocked: first('unlocked'),
    succeeded: first('succeeded'),
  };
}

function isEnforcing({ kind, before, after }: Change, namespace: string): boolean {
  if (kind !== 'ResourceQuota' || after?.metadata.namespace !== namespace) return false;
  return before !== undefined && enforcedBy(before) !== enforcedBy(after);
}

const enforcedBy = ({ status }: ResourceQuota): string =>
  JSON.stringify(Object.entries(status?.hard ?? {}).toSorted());

/** From one moment to another; NaN where one of them never came. */
export function between(moments: Moments, from: keyof Moments, to: keyof Moments): number {
  return (moments[to] ?? NaN) - (moments[from] ?? NaN);
}
