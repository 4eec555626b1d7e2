import type { KubeVirt } from '../../domain/objects.ts';

const GATE = 'DecentralizedLiveMigration';
/** From here on the gate is on without being listed (facts/cross-cluster.md §C4). */
const ON_BY_DEFAULT = [1, 10] as const;
const OLDEST_KUBERNETES = [1, 26] as const;

/** Whether KubeVirt migrates VMs to another cluster. */
export function canMigrateLive(kubevirt: KubeVirt | undefined): boolean {
  const { featureGates = [], disabledFeatureGates = [] } =
    kubevirt?.spec?.configuration?.developerConfiguration ?? {};
  if (disabledFeatureGates.includes(GATE)) return false;
  return featureGates.includes(GATE) || isOnByDefault(kubevirt);
}

const isOnByDefault = (kubevirt: KubeVirt | undefined): boolean =>
  !isBefore(kubevirt?.status?.observedKubeVirtVersion ?? '', ON_BY_DEFAULT);

/** `version`: of the API server, such as "v1.34.1". */
export const isOldKubernetes = (version: string): boolean => isBefore(version, OLDEST_KUBERNETES);

/** A version that cannot be read counts as old. */
function isBefore(version: string, [major, minor]: readonly [number, number]): boolean {
  const [, foundMajor = '0', foundMinor = '0'] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(foundMajor) < major || (Number(foundMajor) === major && Number(foundMinor) < minor);
}
