import { readSnapshot } from '../../functions/cluster/snapshot.ts';
import { withUncharged } from '../../functions/cluster/uncharged.ts';
import type { NamespaceSnapshot } from '../../functions/domain/snapshot.ts';
import { assess } from '../../functions/domain/verdict/assessment.ts';
import type { View } from '../../functions/domain/view.ts';
import { viewOf } from '../../functions/domain/view/view-of.ts';
import type { Reader, ResourceType } from '../../functions/kubernetes/cluster.ts';
import {
  CLAIMS,
  EVENTS,
  LIMIT_RANGES,
  NAMESPACES,
  NODES,
  PODS,
  RESOURCE_QUOTAS,
  VMIS,
} from '../../functions/kubernetes/resources.ts';
import type { Right } from './rights.ts';
import type { State } from './state.ts';

/** Rights that readNamespace needs besides STATE_RIGHTS; without a namespace, in all of them. */
export const snapshotRights = (namespace?: string): readonly Right[] => [
  { verb: 'get', type: NAMESPACES },
  { verb: 'get', type: NODES },
  ...NAMESPACED.map((type): Right => ({
    verb: 'list',
    type,
    ...(namespace === undefined ? {} : { namespace }),
  })),
];

const NAMESPACED: readonly Pick<ResourceType, 'apiVersion' | 'plural'>[] = [
  RESOURCE_QUOTAS,
  PODS,
  VMIS,
  EVENTS,
  LIMIT_RANGES,
  CLAIMS,
];

/** The namespace as feasibility and lock read it, with the view that the guard would give; undefined: it is gone. */
export async function readNamespace(
  cluster: Reader,
  state: State,
  name: string,
): Promise<NamespaceSnapshot | undefined> {
  const { rules } = state;
  const view = (namespace: string): Promise<View> => Promise.resolve(viewOf(state, namespace));
  const snapshot = await readSnapshot(cluster, { name, rules, view });
  if (snapshot === undefined) return undefined;
  return (await withUncharged(cluster, { snapshot, assessment: assess(snapshot, rules) }, rules)).snapshot;
}
