import type { KubernetesObject } from '../../domain/objects.ts';
import { receiverOf } from './proofs.ts';
import type { RunSnapshot } from '../run/snapshot.ts';

/** Objects that this run has made, and that are still there. */
export const madeObjects = (snapshot: RunSnapshot): readonly KubernetesObject[] => [
  ...snapshot.source.vmims,
  ...snapshot.target.vmims,
  ...madeReceiver(snapshot),
  ...(snapshot.target.made?.volumes ?? []),
  ...(snapshot.target.made?.unused ?? []),
];

/** The VM on the target, if this run made it. */
export function madeReceiver(snapshot: RunSnapshot): readonly KubernetesObject[] {
  const receiver = receiverOf(snapshot);
  return receiver === undefined ? [] : [receiver];
}
