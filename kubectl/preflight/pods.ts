import {
  controllerOf,
  isAttachment,
  isDone,
  isOwnedBy,
  targetPodOf,
} from '../../functions/domain/migration.ts';
import { KIND, KUBEVIRT } from '../../functions/domain/names.ts';
import type { Migration, Pod } from '../../functions/domain/objects.ts';

/** The launchers of each VM, and the attachment pods of these launchers, by the VM's name. */
export function podsByVm(pods: readonly Pod[]): Map<string, readonly Pod[]> {
  const byVm = new Map<string, Pod[]>();
  const vmOf = new Map<string, string>();
  for (const pod of pods.filter((each) => !isAttachment(each))) {
    const owner = controllerOf(pod);
    if (owner?.kind !== KIND.vmi.kind) continue;
    vmOf.set(pod.metadata.uid, owner.name);
    byVm.set(owner.name, [...(byVm.get(owner.name) ?? []), pod]);
  }
  for (const pod of pods.filter(isAttachment)) {
    const vm = vmOf.get(controllerOf(pod)?.uid ?? '');
    if (vm !== undefined) byVm.get(vm)?.push(pod);
  }
  return byVm;
}

export const livingLaunchers = (pods: readonly Pod[]): Pod[] =>
  pods.filter((pod) => !isAttachment(pod) && !isDone(pod));

export const attachmentsOf = (launcher: Pod, pods: readonly Pod[]): Pod[] =>
  pods.filter((pod) => isAttachment(pod) && isOwnedBy(pod, launcher.metadata.uid));

/** The target launcher as it will be when it is up: labelled for the migration, and ready. */
export function targetLauncher({ metadata, spec }: Pod, migration: Migration): Pod {
  const { name, uid } = migration.metadata;
  const labels = { ...metadata.labels, [KUBEVIRT.migrationJobUID]: uid };
  const { nodeName: _, ...unscheduled } = spec;
  return {
    metadata: { ...metadata, labels, name: `target-of-${name}`, uid: `target-of-${uid}` },
    spec: unscheduled,
    status: { phase: 'Running' },
  };
}

/** The attachment pod of the target launcher. */
export function targetAttachment({ metadata, spec }: Pod, migration: Migration, own: readonly Pod[]): Pod {
  const target = targetPodOf(migration.metadata, own);
  const { name = '', uid = '' } = target?.metadata ?? {};
  const owner = { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true };
  return {
    metadata: {
      ...metadata,
      name: `attachment-of-${name}`,
      uid: `attachment-of-${uid}`,
      ownerReferences: [owner],
    },
    spec,
    status: { phase: 'Running' },
  };
}
