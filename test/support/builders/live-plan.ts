import type { LiveCondition } from '../../../functions/domain/live/forklift.ts';
import type { Claim } from '../../../functions/domain/live/kubevirt.ts';
import type { PlanView, SourceView, TargetView, VmView } from '../../../functions/live/findings/plan-view.ts';
import type { KubeVirt } from '../../../functions/domain/objects.ts';
import { aHost, aNetworkMap, aPlan, aProvider, aStorageMap, aVm, itsVmi } from './live.ts';
import { metadata, seconds } from './object.ts';

/** Any object that is Ready. */
export const ready = <T extends object>(object: T): T & { status: { conditions: LiveCondition[] } } => ({
  ...object,
  status: {
    conditions: [{ type: 'Ready', status: 'True', category: 'Required', lastTransitionTime: seconds(0) }],
  },
});

/** A KubeVirt of this version, with these feature gates. */
export const aKubeVirt = (version = 'v1.9.0', ...featureGates: string[]): KubeVirt => ({
  metadata: { ...metadata('kubevirt'), namespace: 'kubevirt' },
  spec: { configuration: { developerConfiguration: { featureGates } } },
  status: { observedKubeVirtVersion: version, synchronizationAddresses: ['10.0.0.1:9185'] },
});

const CLAIM: Claim = {
  metadata: { ...metadata('web-root'), namespace: 'vms' },
  spec: { storageClassName: 'fast', resources: { requests: { storage: '10Gi' } } },
};

/** The VM `web` as the plan finds it. */
export const aVmView = (different: Partial<VmView> = {}): VmView => ({
  found: [aVm()],
  vmi: itsVmi(),
  claims: new Map([['web-root', CLAIM]]),
  ...different,
});

const KUBEVIRT = aKubeVirt('v1.9.0', 'DecentralizedLiveMigration');

export const aSource = (different: Partial<SourceView> = {}): SourceView => ({
  cluster: 'source',
  kubevirt: KUBEVIRT,
  version: 'v1.34.1',
  vms: [aVmView()],
  users: new Map(),
  ...different,
});

export const aTarget = (different: Partial<TargetView> = {}): TargetView => ({
  cluster: 'target',
  kubevirt: KUBEVIRT,
  vms: new Map(),
  volumes: new Map(),
  macs: new Map(),
  namespace: { metadata: metadata('target') },
  quotas: [],
  vmmrqs: [],
  ...different,
});

/** A plan that can run. */
export const aPlanView = (different: Partial<PlanView> = {}): PlanView => ({
  plan: aPlan(),
  source: ready(aProvider()),
  destination: ready(aHost()),
  networks: aNetworkMap(),
  storage: aStorageMap(),
  knownNetworks: { source: new Set(['vms/blue']), target: new Set(['target/green']) },
  storageClasses: { source: new Set(['fast']), target: new Set(['gold']) },
  hooks: new Map(),
  missingAccounts: new Set(),
  sourceCluster: aSource(),
  targetCluster: aTarget(),
  pods: new Map(),
  instanceTypes: new Map(),
  missingResources: new Map(),
  missingCpus: new Map(),
  unlabelledNodes: new Map(),
  ...different,
});
