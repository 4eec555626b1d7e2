import type { Migration, VirtualMachineInstance } from '../../functions/domain/objects.ts';
import type { NamespaceSnapshot, Rules } from '../../functions/domain/snapshot.ts';
import type { ViewInput } from '../../functions/domain/view/view-of.ts';

/** A namespace with VMs to move, as read. */
export interface NamespaceFacts extends Pick<
  NamespaceSnapshot,
  'namespace' | 'quotas' | 'vmmrqs' | 'pods' | 'limitRanges' | 'claims' | 'events' | 'uncharged'
> {
  /** The running VMs to move. */
  readonly vmis: readonly VirtualMachineInstance[];
  /** Migrations that have not ended. */
  readonly migrations: readonly Migration[];
  /** Migrations that have ended, if a quota counts migrations; left out: none is known. */
  readonly ended?: readonly Migration[];
  /** What refuses other pods of the VMs besides the quotas of the namespace, by dry runs, as Events of virt-controller. */
  readonly refusals?: NamespaceSnapshot['events'];
}

/** Everything that preflight's verdicts depend on, as plain values. */
export interface ClusterFacts {
  /** The API server's clock, milliseconds. */
  readonly now: number;
  /** The cluster as the guard sees it: KubeVirt, the migrations that use slots, the incumbent. */
  readonly state: ViewInput;
  readonly rules: Rules;
  /** Whether only VMs that are outdated already count, because an upgrade has begun. */
  readonly onlyOutdated: boolean;
  /** The nodes that evacuations leave. */
  readonly nodes: NamespaceSnapshot['nodes'];
  /** Namespaces, sorted by name. */
  readonly namespaces: readonly NamespaceFacts[];
  /** No dry run has shown whether a webhook or policy refuses the pods or the raises. */
  readonly isUntried?: true;
}
