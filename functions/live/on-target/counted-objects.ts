import { LIVE_KIND } from '../../domain/live/names.ts';
import { KIND } from '../../domain/names.ts';
import { parseQuantity } from '../../domain/quantity.ts';
import { sumOf, type Amounts } from '../../domain/quota/charged.ts';

/**
 * The keys by which quotas count objects of a kind (kubernetes pkg/quota/v1/generic/evaluator.go, ObjectCountQuotaResourceNameFor). Secrets
 * and ConfigMaps have two.
 */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  [LIVE_KIND.vm.kind]: ['count/virtualmachines.kubevirt.io'],
  [KIND.vmi.kind]: ['count/virtualmachineinstances.kubevirt.io'],
  [LIVE_KIND.dataVolume.kind]: ['count/datavolumes.cdi.kubevirt.io'],
  [LIVE_KIND.secret.kind]: ['secrets', 'count/secrets'],
  [LIVE_KIND.configMap.kind]: ['configmaps', 'count/configmaps'],
  [LIVE_KIND.instancetype.kind]: ['count/virtualmachineinstancetypes.instancetype.kubevirt.io'],
  [LIVE_KIND.preference.kind]: ['count/virtualmachinepreferences.instancetype.kubevirt.io'],
};

/** Returns the amounts that quotas count for objects of these kinds. */
export const countOf = (kinds: readonly string[]): Amounts =>
  sumOf(kinds.map((kind) => new Map((KEYS[kind] ?? []).map((key) => [key, parseQuantity('1')]))));
