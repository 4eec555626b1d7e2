import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { ResourceType, Selection } from '../../functions/kubernetes/cluster.ts';
import type { Paint } from '../terminal/table.ts';

/** A kind of objects that are followed until they end. */
export interface FollowedKind<T extends KubernetesObject> {
  readonly type: ResourceType<T>;
  readonly where: Selection;
  readonly isOpen: (object: T) => boolean;
  /** Whether an object that has ended has succeeded. */
  readonly hasSucceeded: (object: T) => boolean;
  /** Renders the object for a terminal. */
  readonly render: (object: T, screen: ScreenWidth) => string[];
  /** Renders a line for each change, for a pipe. */
  readonly plainLine: (object: T) => string;
}

export interface ScreenWidth {
  readonly paint: Paint;
  readonly columns: number;
}

/** The common end of the followed objects; undefined: one is still open. */
export function endOf<T extends KubernetesObject>(
  objects: readonly T[],
  { isOpen, hasSucceeded }: Pick<FollowedKind<T>, 'isOpen' | 'hasSucceeded'>,
): 'completed' | 'failed' | undefined {
  if (objects.some(isOpen)) return undefined;
  return objects.every(hasSucceeded) ? 'completed' : 'failed';
}
