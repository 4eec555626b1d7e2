import { KUBEVIRT } from '../names.ts';
import { computeOf } from './estimate.ts';
import { lacksOverhead } from './guest-memory.ts';
import { withoutDefaults } from './limit-ranges.ts';
import type { Pod, VirtualMachineInstance } from '../objects.ts';

/** Annotations of a VMI that add containers to its launcher, and that KubeVirt copies to it (template.go, generatePodAnnotations). */
export const ADDS_CONTAINERS = [KUBEVIRT.hookSidecars, KUBEVIRT.istioInject] as const;

/**
 * What the VM's next launcher has that the estimate cannot size, in words: its source launcher was made without it. Everything else
 * that KubeVirt renders (the devices, bindings, sidecars and probes of the VMI) is in the source's requests already, known or not.
 */
export function unknownTerms(vmi: VirtualMachineInstance, source: Pod): string[] {
  const { metadata, status } = vmi;
  const added = ADDS_CONTAINERS.filter((key) => {
    const now = metadata.annotations?.[key];
    return now !== undefined && now !== source.metadata.annotations?.[key];
  }).map((key) => `the annotation ${key} of the VMI, which was set after its launcher was created`);
  const isChanged = status?.conditions?.some(
    ({ type, status: holds }) => type === KUBEVIRT.migrationRequired && holds === 'True',
  );
  const requests = computeOf(withoutDefaults(source))?.resources?.requests ?? {};
  return [
    ...added,
    ...(isChanged === true
      ? [`the change of its networks that waits for a migration (condition ${KUBEVIRT.migrationRequired})`]
      : []),
    ...(lacksOverhead(vmi, source, requests)
      ? ['the memory that was hotplugged: KubeVirt before 1.8 does not show the overhead of its launcher']
      : []),
  ];
}
