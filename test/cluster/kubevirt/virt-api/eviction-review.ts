/** virt-api's answer to an eviction of one of KubeVirt's pods (facts/kubevirt.md §3.3). Pure. */
import { HOTPLUG_DISK, LABELS, LAUNCHER } from '../objects/names.ts';
import type { Configuration } from '../objects/objects.ts';
import { isOver } from '../objects/pods.ts';
import type { LauncherPod, Vmi } from '../objects/types.ts';

export interface EvictionView {
  readonly pod: LauncherPod;
  /** Of an attachment pod: the launcher that owns it. */
  readonly owner: LauncherPod | undefined;
  /** The guest in the launcher. */
  readonly vmi: Vmi | undefined;
  readonly configuration: Configuration;
}

export type EvictionAnswer =
  | { readonly do: 'pass' }
  | { readonly do: 'refuse'; readonly message: string }
  /** Marks the VMI for its evacuation from `node`, and refuses. */
  | { readonly do: 'mark'; readonly node: string; readonly message: string };

const PASS: EvictionAnswer = { do: 'pass' };

const refuse = (message: string): EvictionAnswer => ({ do: 'refuse', message });

export function reviewEviction(view: EvictionView): EvictionAnswer {
  const app = view.pod.metadata.labels?.[LABELS.app];
  if (app === HOTPLUG_DISK) return reviewAttachment(view);
  return app === LAUNCHER && !isOver(view.pod) ? reviewLauncher(view) : PASS;
}

function reviewAttachment({ pod, owner, vmi }: EvictionView): EvictionAnswer {
  if (owner === undefined || isOver(owner) || vmi === undefined) return PASS;
  const { name, namespace = '' } = pod.metadata;
  return refuse(
    `cannot evict hotplug pod: ${name} associated with running vmi: ${vmi.metadata.name} in namespace ${namespace}`,
  );
}

function reviewLauncher({ pod, vmi, configuration }: EvictionView): EvictionAnswer {
  if (vmi === undefined) return refuse('kubevirt failed getting the vmi: it does not exist');
  const { name, namespace = '' } = vmi.metadata;
  const strategy = evictionStrategyOf(vmi, configuration);
  if (strategy === 'LiveMigrate' && !isMigratable(vmi)) {
    return refuse(`VMI ${name} is configured with an eviction strategy but is not live-migratable`);
  }
  if (!isKept(strategy, vmi)) return PASS;
  // The descheduler expects this text.
  const triggered = `Eviction triggered evacuation of VMI "${namespace}/${name}"`;
  if (isMarked(vmi)) return refuse(`Evacuation in progress: ${triggered}`);
  const { nodeName: node = '' } = pod.spec;
  if (vmi.status?.nodeName !== node) return refuse('Eviction request for target Pod');
  return { do: 'mark', node, message: triggered };
}

/** The VMI's own, or the cluster's; undefined: its launcher may be evicted. */
export const evictionStrategyOf = (vmi: Vmi, configuration: Configuration): string | undefined =>
  vmi.spec.evictionStrategy ?? configuration.evictionStrategy;

/** Whether the guest survives an eviction of its launcher: somebody moves it. */
const isKept = (strategy: string | undefined, vmi: Vmi): boolean =>
  ['LiveMigrate', 'External'].includes(strategy ?? '') ||
  (strategy === 'LiveMigrateIfPossible' && isMigratable(vmi));

export const isMigratable = ({ status }: Vmi): boolean =>
  status?.conditions?.some((one) => one.type === 'LiveMigratable' && one.status === 'True') === true;

export const isMarked = ({ status }: Vmi): boolean => (status?.evacuationNodeName ?? '') !== '';
