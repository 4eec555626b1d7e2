import { launcherRulesOf } from '../../functions/domain/sizing/launcher-rules.ts';
import type { LauncherRules, NamespaceSnapshot, Rules } from '../../functions/domain/snapshot.ts';
import type { View } from '../../functions/domain/view.ts';
import { viewOf } from '../../functions/domain/view/view-of.ts';
import type { ClusterFacts } from './facts.ts';
import type { Task } from './task.ts';

/** Facts that do not change while VMs of a namespace migrate. The task's nodes count as drained. */
export interface Surroundings extends Pick<
  NamespaceSnapshot,
  'now' | 'nodes' | keyof LauncherRules | 'upgradeOverhead'
> {
  /** The view of the guard with every slot free: a migration is only evaluated where it has one (slots.ts). */
  readonly view: View;
  readonly rules: Rules;
}

export function surroundingsOf(
  task: Task,
  { now, state, rules, nodes }: ClusterFacts,
  namespace: string,
): Surroundings {
  const view = viewOf({ ...state, migrations: [], held: [], nodes: new Map() }, namespace);
  return {
    now,
    rules,
    view,
    ...launcherRulesOf(view.kubevirt),
    nodes: new Map([
      ...nodes,
      ...(task.kind === 'node' ? task.nodes : []).map((node) => [node, 'draining'] as const),
    ]),
    ...(task.kind === 'upgrade' && task.overhead !== undefined ? { upgradeOverhead: task.overhead } : {}),
  };
}
