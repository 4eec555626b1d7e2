import { hasAutoLimits } from './auto-limits.ts';
import { overheadRatioOf } from './growth.ts';
import type { KubeVirt } from '../objects.ts';
import type { LauncherRules } from '../snapshot.ts';
import type { View } from '../view.ts';

/** The same, as the guard's view carries it. */
type InView = Pick<View['kubevirt'], keyof LauncherRules>;

/** KubeVirt's defaults. */
export const DEFAULT_RULES: LauncherRules = { overheadRatio: overheadRatioOf(undefined), autoLimits: true };

export const launcherRulesOf = (rules: InView): LauncherRules => ({
  overheadRatio: overheadRatioOf(rules.overheadRatio),
  autoLimits: rules.autoLimits,
  autoCpuNamespaces: rules.autoCpuNamespaces,
  cpuAllocationRatio: rules.cpuAllocationRatio,
  stateStorageClass: rules.stateStorageClass,
});

/** What the guard's view carries of KubeVirt's CR. */
export function rulesInView(kubevirt: KubeVirt | undefined): InView {
  const { configuration = {} } = kubevirt?.spec ?? {};
  // An empty class is none.
  const stateStorageClass = configuration.vmStateStorageClass || undefined;
  const selector = configuration.autoCPULimitNamespaceLabelSelector;
  const cpuAllocationRatio = configuration.developerConfiguration?.cpuAllocationRatio;
  return {
    overheadRatio: configuration.additionalGuestMemoryOverheadRatio ?? '1',
    autoLimits: hasAutoLimits(kubevirt),
    ...(selector === undefined ? {} : { autoCpuNamespaces: selector }),
    ...(cpuAllocationRatio === undefined ? {} : { cpuAllocationRatio }),
    ...(stateStorageClass === undefined ? {} : { stateStorageClass }),
  };
}
