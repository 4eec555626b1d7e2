import { KUBEVIRT } from '../names.ts';
import type { Pod, VirtualMachineInstance } from '../objects.ts';

/** Annotations of a VMI that add containers to its launcher, and that KubeVirt copies to it (template.go, generatePodAnnotations). */
export const ADDS_CONTAINERS = [KUBEVIRT.hookSidecars, KUBEVIRT.istioInject] as const;

/**
 * What the VM's next launcher has that the estimate cannot size, in words: its source launcher was made without it. Everything else
 * that KubeVirt renders (the devices, bindings, sidecars and probes of the VMI) is in the source's requests already, known or not.
 */
export function unknownTerms({ metadata, status }: VirtualMachineInstance, source: Pod): string[] {
  const added = ADDS_CONTAINERS.filter((key) => {
    const now = metadata.annotations?.[key];
    return now !== undefined && now !== source.metadata.annotations?.[key];
  }).map((key) => `the annotation ${key} of the VMI, which was set after its launcher was created`);
  const isChanged = status?.conditions?.some(
    ({ type, status: holds }) => type === KUBEVIRT.migrationRequired && holds === 'True',
  );
  return isChanged === true
    ? [
        ...added,
        `the change of its networks that waits for a migration (condition ${KUBEVIRT.migrationRequired})`,
      ]
    : added;
}
