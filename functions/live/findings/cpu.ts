import type { KubeVirt, Node } from '../../domain/objects.ts';
import type { VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import type { PlanView } from './plan-view.ts';

/** Beginnings of the labels of nodes about their CPU (kubevirt pkg/virt-controller/watch/migration, getHostCpuModelFromMap). */
const LABEL = {
  vendor: 'cpu-vendor.node.kubevirt.io/',
  model: 'cpu-model.node.kubevirt.io/',
  hostModel: 'host-model-cpu.node.kubevirt.io/',
  migratableModel: 'cpu-model-migration.node.kubevirt.io/',
  requiredFeature: 'host-model-required-features.node.kubevirt.io/',
  feature: 'cpu-feature.node.kubevirt.io/',
} as const;

const HOST_MODEL = 'host-model';
const HOST_PASSTHROUGH = 'host-passthrough';

/**
 * Labels that KubeVirt demands of the guest's next node, by the CPU model and by the node where the guest runs; empty if it demands none,
 * or if they are not known. host-passthrough demands the vendor alone (facts/cross-cluster.md §C2).
 */
export function cpuLabelsOf({ spec }: Vmi, node: Node | undefined): Readonly<Record<string, string>> {
  const { model = HOST_MODEL } = spec.domain.cpu ?? {};
  if (model === HOST_PASSTHROUGH) return renamed(node, [[LABEL.vendor, LABEL.vendor]]);
  if (model !== HOST_MODEL) return { [`${LABEL.model}${model}`]: 'true' };
  return renamed(node, [
    [LABEL.hostModel, LABEL.migratableModel],
    [LABEL.requiredFeature, LABEL.feature],
  ]);
}

/**
 * Whether the guest's node lacks the labels that KubeVirt sends to the target. KubeVirt there waits for them for ever, before it makes a
 * launcher (facts/cross-cluster.md §C2). For host-model it makes none without the model of the host.
 */
export function lacksCpuLabels({ spec }: Vmi, { metadata: { labels = {} } }: Node): boolean {
  const { model = HOST_MODEL } = spec.domain.cpu ?? {};
  const sent =
    model === HOST_MODEL ? [LABEL.hostModel] : [LABEL.hostModel, LABEL.requiredFeature, LABEL.vendor];
  return !Object.keys(labels).some((label) => sent.some((beginning) => label.startsWith(beginning)));
}

/** Returns the node's labels with these beginnings, in this order, each beginning replaced. */
const renamed = (
  node: Node | undefined,
  beginnings: readonly (readonly [from: string, to: string])[],
): Record<string, string> =>
  Object.fromEntries(
    beginnings.flatMap(([from, to]) =>
      Object.entries(node?.metadata.labels ?? {})
        .filter(([label]) => label.startsWith(from))
        .map(([label, value]) => [`${to}${label.slice(from.length)}`, value]),
    ),
  );

/** Problems with the CPU of the guest on the target, in words. */
export function cpuProblems(
  { vm, vmi }: { readonly vm: VirtualMachine; readonly vmi: Vmi | undefined },
  { missingCpus, targetCluster }: PlanView,
): string[] {
  const missing = missingCpus.get(vm.metadata.uid);
  const model = vmi?.spec.domain.cpu?.model;
  const isOwn = vm.spec.template.spec.domain.cpu?.model !== undefined;
  // An instance type may name it; else it is the default of the time when the guest was started.
  const isByDefault = !isOwn && vm.spec.instancetype === undefined && model !== undefined;
  const other = defaultModelOf(targetCluster?.kubevirt);
  return [
    ...(missing === undefined ? [] : [`no node there has ${textOf(missing)}`]),
    ...(isByDefault && other !== model
      ? [`runs as ${model}, and KubeVirt of the target would make it ${other}`]
      : []),
  ];
}

const defaultModelOf = (kubevirt: KubeVirt | undefined): string =>
  kubevirt?.spec?.configuration?.cpuModel ?? HOST_MODEL;

const MAX_NAMED = 3;

/** Names the first few labels, because a CPU has a hundred. */
function textOf(labels: readonly string[]): string {
  const more = labels.length - MAX_NAMED;
  const named = labels.slice(0, MAX_NAMED).join(', ');
  return `${named}${more > 0 ? ` and ${String(more)} more labels` : ''}`;
}
