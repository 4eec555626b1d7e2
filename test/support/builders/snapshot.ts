import type { AmountList, ClusterVmmrq, RaisePolicy, Vmmrq } from '../../../functions/domain/objects.ts';
import type { Purpose } from '../../../functions/domain/names.ts';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import type { NamespaceSnapshot, Rules } from '../../../functions/domain/snapshot.ts';
import type { View } from '../../../functions/domain/view.ts';
import { aLauncher, aMigration, aVmi } from './kubevirt.ts';
import { aNamespace } from './namespace.ts';
import { build, metadata, NOW, type Change } from './object.ts';
import { aQuota } from './quota.ts';

const DEFAULT_AMOUNTS: AmountList = { 'requests.cpu': '1200m', 'requests.memory': '1500Mi' };

/** VMMRQ `vmmrq` with an allowance for a bit more than one launcher (aLauncher). */
export function aVmmrq(...changes: Change<Vmmrq>[]): Vmmrq {
  const base: Vmmrq = {
    apiVersion: 'mtq.kubevirt.io/v1alpha1',
    kind: 'VirtualMachineMigrationResourceQuota',
    metadata: metadata('vmmrq'),
    spec: { additionalMigrationResources: DEFAULT_AMOUNTS },
  };
  return build(base, changes);
}

/** Cluster-wide VMMRQ `drains` for every namespace, with the same allowance. */
export function aClusterVmmrq(...changes: Change<ClusterVmmrq>[]): ClusterVmmrq {
  const { namespace: _, ...own } = metadata('drains');
  const base: ClusterVmmrq = {
    apiVersion: 'mtq.kubevirt.io/v1alpha1',
    kind: 'ClusterVirtualMachineMigrationResourceQuota',
    metadata: own,
    spec: { namespaceSelector: {}, additionalMigrationResources: DEFAULT_AMOUNTS },
  };
  return build(base, changes);
}

/** Only for migrations of these purposes. */
export const forPurposes =
  (...purposes: Purpose[]): (<T extends Vmmrq>(vmmrq: T) => T) =>
  (vmmrq) => ({ ...vmmrq, spec: { ...vmmrq.spec, purposes } });

export const giving =
  (additionalMigrationResources: AmountList): Change<Vmmrq> =>
  (vmmrq) => ({ ...vmmrq, spec: { ...vmmrq.spec, additionalMigrationResources } });

/** A percentage of each quota, in addition to the VMMRQ's amounts, if it has any. */
export const sharing =
  (additionalMigrationPercentage: string, raisePolicy?: RaisePolicy): Change<Vmmrq> =>
  (vmmrq) => ({
    ...vmmrq,
    spec: {
      ...(vmmrq.spec.additionalMigrationResources === DEFAULT_AMOUNTS ? {} : vmmrq.spec),
      additionalMigrationPercentage,
      ...(raisePolicy === undefined ? {} : { raisePolicy }),
    },
  });

export const RULES: Rules = { kubevirtNamespace: 'kubevirt', lockSeconds: 30 };

/** The guard's view of a cluster with KubeVirt's defaults and no running migration. */
export const aView = (different: Partial<View> = {}): View => ({
  left: { cluster: 5, node: 2, nodes: {} },
  limits: { cluster: 5, node: 2 },
  others: false,
  served: true,
  clusterWide: false,
  open: { queued: [], status: false },
  kubevirt: { overheadRatio: '1', autoLimits: true, drainTaint: 'kubevirt.io/drain' },
  ...different,
});

/** The tenant's namespace with vm0 running and mig0 blocked; by default a raise helps it. */
export function aSnapshot(different: Partial<NamespaceSnapshot> = {}): NamespaceSnapshot {
  return {
    now: NOW,
    namespace: aNamespace(),
    migrations: [aMigration()],
    quotas: [aQuota()],
    vmmrqs: [aVmmrq()],
    pods: [aLauncher()],
    vmis: new Map([['vm0', aVmi()]]),
    nodes: new Map(),
    limitRanges: [],
    events: [],
    claims: [],
    overheadRatio: parseQuantity('1'),
    autoLimits: true,
    view: aView(),
    ...different,
  };
}
