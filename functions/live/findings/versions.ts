import type { KubeVirt } from '../../domain/objects.ts';

const GATE = 'DecentralizedLiveMigration';
/** The first KubeVirt that knows the gate. From the other version on, the gate is on without being listed (facts/cross-cluster.md §C4). */
const FIRST_KUBEVIRT = [1, 6] as const;
const ON_BY_DEFAULT = [1, 10] as const;
const OLDEST_KUBERNETES = [1, 26] as const;

type Version = readonly [major: number, minor: number];

/** Parses "v1.34.1"; undefined if it cannot be parsed. */
function parsed(version = ''): Version | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor)];
}

const isBefore = ([major, minor]: Version, [otherMajor, otherMinor]: Version): boolean =>
  major < otherMajor || (major === otherMajor && minor < otherMinor);

/** Returns the version ("v1.9.0"); undefined if KubeVirt is not deployed yet. */
export const versionOf = (kubevirt: KubeVirt | undefined): string | undefined =>
  kubevirt?.status?.observedKubeVirtVersion;

/** Whether KubeVirt migrates VMs to another cluster. */
export function canMigrateLive(kubevirt: KubeVirt | undefined): boolean {
  const { featureGates = [], disabledFeatureGates = [] } =
    kubevirt?.spec?.configuration?.developerConfiguration ?? {};
  if (disabledFeatureGates.includes(GATE)) return false;
  const isListed = featureGates.includes(GATE);
  const version = parsed(versionOf(kubevirt));
  // A KubeVirt that is being installed has no version yet.
  if (version === undefined) return isListed;
  return !isBefore(version, isListed ? FIRST_KUBEVIRT : ON_BY_DEFAULT);
}

/** Compares major and minor version; false if one of them cannot be parsed. */
export function isOlder(one: string | undefined, other: string | undefined): boolean {
  const [version, than] = [parsed(one), parsed(other)];
  return version !== undefined && than !== undefined && isBefore(version, than);
}

/** Whether Kubernetes is too old. `version`: of the API server, such as "v1.34.1". A version that cannot be parsed counts as old. */
export const isOldKubernetes = (version: string): boolean =>
  isBefore(parsed(version) ?? [0, 0], OLDEST_KUBERNETES);
