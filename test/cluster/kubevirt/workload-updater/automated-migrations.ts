/** The migrations that virt-controller creates by itself (facts/kubevirt.md §3.1, §3.2; fields from test/recorded). Pure. */
import type { New } from '../../../../functions/kubernetes/cluster.ts';
import { ANNOTATIONS, LABELS, MIGRATION_FINALIZER } from '../objects/names.ts';
import type { Release } from '../objects/release.ts';
import type { Vmi, Vmim } from '../objects/types.ts';

/** Names and labels of Kubernetes are at most this long. */
const MAX_LABEL = 63;

/** Of a drain; a descheduler's can wait longer than a person's. */
export function newEvacuation(vmi: Vmi, node: string, { hasPriority }: Release): New<Vmim> {
  const isDescheduler = vmi.metadata.annotations?.[ANNOTATIONS.evictionSource] === 'descheduler';
  const priority = isDescheduler ? 'system-maintenance' : 'system-critical';
  return automated(vmi, {
    generateName: 'kubevirt-evacuation-',
    annotations: { [ANNOTATIONS.evacuation]: node },
    ...(hasPriority ? { priority } : {}),
  });
}

/** Of an upgrade, or of a change of the VMI itself. */
export function newWorkloadUpdate(vmi: Vmi, { hasPriority }: Release): New<Vmim> {
  const { name, uid } = vmi.metadata;
  const priority = isChanging(vmi) ? 'user-triggered' : 'system-critical';
  return automated(vmi, {
    generateName: 'kubevirt-workload-update-',
    annotations: { [ANNOTATIONS.workloadUpdate]: '' },
    labels: hasCondition(vmi, 'VolumesChange')
      ? { [LABELS.volumeUpdate]: name.length > MAX_LABEL ? uid : name }
      : {},
    ...(hasPriority ? { priority } : {}),
  });
}

interface Automated {
  readonly generateName: string;
  readonly annotations: Record<string, string>;
  readonly labels?: Record<string, string>;
  readonly priority?: string;
}

/** With virt-api's finalizer and label. */
const automated = (
  { metadata: { name, namespace = 'default' } }: Vmi,
  { priority, labels, ...metadata }: Automated,
): New<Vmim> => ({
  metadata: {
    namespace,
    ...metadata,
    finalizers: [MIGRATION_FINALIZER],
    labels: { ...labels, [LABELS.vmiName]: name },
  },
  spec: { ...(priority === undefined ? {} : { priority }), vmiName: name },
});

/** A hotplug or a change of volumes that only a migration carries out. */
export const isChanging = (vmi: Vmi): boolean =>
  vmi.status?.conditions?.some(({ type }) => type === 'HotVCPUChange') === true ||
  ['HotMemoryChange', 'MigrationRequired', 'VolumesChange'].some((type) => hasCondition(vmi, type));

const hasCondition = ({ status }: Vmi, type: string): boolean =>
  status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
