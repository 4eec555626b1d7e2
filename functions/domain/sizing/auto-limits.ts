import type { KubeVirt } from '../objects.ts';

const GATE = 'AutoResourceLimitsGate';
const SINCE = { major: 1, minor: 5 } as const;

/**
 * Whether this KubeVirt gives launchers limits by itself where a quota has limits: since 1.5 always, before by a feature
 * gate (facts/kubevirt.md §2.1). One that does not say its version counts as new.
 */
export function hasAutoLimits(kubevirt: KubeVirt | undefined): boolean {
  const gates = kubevirt?.spec?.configuration?.developerConfiguration?.featureGates ?? [];
  return gates.includes(GATE) || isSince(kubevirt?.status?.observedKubeVirtVersion ?? '');
}

function isSince(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  if (major === undefined || minor === undefined) return true;
  return Number(major) === SINCE.major ? Number(minor) >= SINCE.minor : Number(major) > SINCE.major;
}
