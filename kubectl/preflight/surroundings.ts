import { launcherRulesOf } from '../../functions/domain/sizing/launcher-rules.ts';
import type { LauncherRules, NamespaceSnapshot, Rules } from '../../functions/domain/snapshot.ts';
import type { View } from '../../functions/domain/view.ts';
import { viewOf } from '../../functions/domain/view/view-of.ts';
import type { ClusterFacts } from './facts.ts';
import type { Task } from './task.ts';

/** Facts that do not change while VMs of a namespace migrate. */
export interface Surroundings extends Pick<
  NamespaceSnapshot,
  'now' | keyof LauncherRules | 'upgradeOverhead'
> {
  /** The view of the guard with every slot free: a migration is only evaluated where it has one (slots.ts). */
  readonly view: View;
  /** Drained nodes; the task's nodes count as drained too. */
  readonly draining: ReadonlySet<string>;
  readonly rules: Rules;
}

export function surroundingsOf(
  task: Task,
  { now, state, rules, draining }: ClusterFacts,
  namespace: string,
): Surroundings {
  const view = viewOf({ ...state, migrations: [], held: [], nodes: new Map() }, namespace);
  return {
    now,
    rules,
    view,
    ...launcherRulesOf(view.kubevirt),
    draining: new Set([...draining, ...(task.kind === 'node' ? task.nodes : [])]),
    ...(task.kind === 'upgrade' && task.overhead !== undefined ? { upgradeOverhead: task.overhead } : {}),
  };
}
