import type { VirtualMachineInstance } from '../../functions/domain/objects.ts';
import type { View } from '../../functions/domain/view.ts';
import { slotsLeft } from '../../functions/domain/view/slots.ts';
import { stateOf } from '../../functions/domain/view/view-of.ts';
import type { ClusterFacts } from './facts.ts';

export const nodeOf = ({ status }: VirtualMachineInstance): string => status?.nodeName ?? '';

/** KubeVirt's migration slots, as far as other migrations leave them (facts/kubevirt.md §1.5). */
export class Slots {
  readonly limits: View['limits'];
  /** Number of the VMs to move that migrate at once. */
  readonly atOnce: number;
  #cluster: number;
  readonly #nodes: Map<string, number>;

  constructor({ state, namespaces }: ClusterFacts) {
    const now = stateOf(state);
    const left = slotsLeft(now, '');
    const sources = new Set(namespaces.flatMap(({ vmis }) => vmis.map(nodeOf)));
    this.limits = now.limits;
    this.atOnce = Math.min(this.limits.cluster, this.limits.node * sources.size);
    this.#cluster = left.cluster;
    this.#nodes = new Map(Object.entries(left.nodes));
  }

  hasOneFor(node: string): boolean {
    return this.#cluster > 0 && this.#leftOn(node) > 0;
  }

  take(node: string): void {
    this.#cluster -= 1;
    this.#nodes.set(node, this.#leftOn(node) - 1);
  }

  /** Releases the slots of every migration that has all its pods. */
  release(): void {
    this.#cluster = this.limits.cluster;
    this.#nodes.clear();
  }

  #leftOn(node: string): number {
    return this.#nodes.get(node) ?? this.limits.node;
  }
}
