import type { Maintenance } from '../domain/progress/maintenance.ts';
import { isOpen, type ProgressSpec } from '../domain/progress/progress-object.ts';

/** A new object. */
export interface Opening {
  readonly name: string;
  readonly label: string;
  readonly spec: ProgressSpec;
}

/** The object to create; undefined: none. At most one is open for a node, and one for the upgrade. */
export function openingOf(seen: Maintenance): Opening | undefined {
  if (seen.current !== undefined && isOpen(seen.current)) return undefined;
  const spec = seen.kind === 'Drain' ? specOfDrain(seen) : specOfUpgrade(seen);
  if (spec === undefined) return undefined;
  return { name: `${seen.label}-${String(seen.highest + 1)}`, label: seen.label, spec };
}

/** A cordoned node alone is no drain. One whose VMs have all left before the first look is. */
function specOfDrain({ node, isMarked, left, moved = [] }: Maintenance): ProgressSpec | undefined {
  const hasBegun = (isMarked && left.length > 0) || moved.length > 0;
  if (node?.uid === undefined || !node.isDraining || !hasBegun) return undefined;
  const { name, uid } = node;
  return { kind: 'Drain', subject: name, node: { name, uid } };
}

/** The spec of an upgrade. KubeVirt without an observed deployment is being installed. */
function specOfUpgrade({ kubevirt, left, moved = [] }: Maintenance): ProgressSpec | undefined {
  const { observed, target } = kubevirt ?? {};
  if (observed === undefined || target === undefined) return undefined;
  if (observed === target && left.length + moved.length === 0) return undefined;
  const deployment = observed === target ? { to: target } : { from: observed, to: target };
  return { kind: 'Upgrade', subject: target, deployment };
}
