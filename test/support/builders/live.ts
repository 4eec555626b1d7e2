import { withRunClusters, type RunClusters } from '../../../functions/live/run/run-clusters.ts';
import type {
  Hook,
  NetworkMap,
  Plan,
  PlanMigration,
  Provider,
  StorageMap,
} from '../../../functions/domain/live/forklift.ts';
import type { VirtualMachine, Vmi, VmTemplate } from '../../../functions/domain/live/kubevirt.ts';
import {
  FORKLIFT_KIND,
  LIVE_ANNOTATION,
  LIVE_FINALIZER,
  LIVE_KIND,
} from '../../../functions/domain/live/names.ts';
import { KIND } from '../../../functions/domain/names.ts';
import type { RunId } from '../../../functions/live/run/names.ts';
import type { RunRecord } from '../../../functions/live/run/record.ts';
import { build, metadata, seconds, withFinalizer, type Change } from './object.ts';

const named = (name: string): { namespace: string; name: string } => ({ namespace: 'tenant', name });
const PROVIDERS = { source: named('source'), destination: named('destination') };

/** `live` holds it. */
export const held = withFinalizer(LIVE_FINALIZER);

/** Who has written an object. */
export const TOM = JSON.stringify({ user: 'tom', groups: [] });

/** Metadata of an object that this user has written, as the guard has it. */
const written = (name: string): ReturnType<typeof metadata> => ({
  ...metadata(name),
  annotations: { [LIVE_ANNOTATION.requester]: TOM },
});

/** A plan that moves the VM `web` of namespace `vms` to the namespace `target`. */
export const aPlan = (...changes: Change<Plan>[]): Plan =>
  build<Plan>(
    {
      ...FORKLIFT_KIND.plan,
      metadata: written('plan'),
      spec: {
        type: 'live',
        provider: PROVIDERS,
        targetNamespace: 'target',
        map: { network: named('networks'), storage: named('storage') },
        vms: [{ name: 'web', namespace: 'vms' }],
      },
    },
    changes,
  );

/** A run of the plan. */
export const aPlanMigration = (...changes: Change<PlanMigration>[]): PlanMigration =>
  build<PlanMigration>(
    { ...FORKLIFT_KIND.migration, metadata: metadata('migration'), spec: { plan: named('plan') } },
    changes,
  );

/** A Migration whose run began with the providers of these names. */
export const begunWith =
  (source = 'source', target = 'destination'): Change<PlanMigration> =>
  (migration) => {
    const of = (name: string): RunClusters['source'] => ({
      cluster: `cluster-of-${name}`,
      provider: { uid: metadata(name).uid, isHub: false },
    });
    const annotations = withRunClusters(migration.metadata.annotations, {
      source: of(source),
      target: of(target),
    });
    return { ...migration, metadata: { ...migration.metadata, annotations } };
  };

/** The provider of another cluster. */
export const aProvider = (name = 'source', ...changes: Change<Provider>[]): Provider =>
  build<Provider>(
    {
      ...FORKLIFT_KIND.provider,
      metadata: written(name),
      spec: { type: 'openshift', url: `https://${name}.example.com:6443`, secret: named(name) },
    },
    changes,
  );

/** The provider of the cluster that it is stored in. */
export const aHost = (name = 'destination', ...changes: Change<Provider>[]): Provider =>
  aProvider(
    name,
    (provider) => ({ ...provider, spec: { type: 'openshift', url: '', secret: {} } }),
    ...changes,
  );

/** Storage class `fast` is `gold` on the destination. */
export const aStorageMap = (...changes: Change<StorageMap>[]): StorageMap =>
  build<StorageMap>(
    {
      ...FORKLIFT_KIND.storageMap,
      metadata: written('storage'),
      spec: {
        provider: PROVIDERS,
        map: [{ source: { name: 'fast' }, destination: { storageClass: 'gold' } }],
      },
    },
    changes,
  );

/** The pod network is the pod network, and `vms/blue` is `target/green`. */
export const aNetworkMap = (...changes: Change<NetworkMap>[]): NetworkMap =>
  build<NetworkMap>(
    {
      ...FORKLIFT_KIND.networkMap,
      metadata: written('networks'),
      spec: {
        provider: PROVIDERS,
        map: [
          { source: { type: 'pod' }, destination: { type: 'pod' } },
          {
            source: { namespace: 'vms', name: 'blue' },
            destination: { type: 'multus', namespace: 'target', name: 'green' },
          },
        ],
      },
    },
    changes,
  );

/** A hook that runs a playbook. */
export const aHook = (...changes: Change<Hook>[]): Hook =>
  build<Hook>(
    {
      ...FORKLIFT_KIND.hook,
      metadata: written('hook'),
      spec: { image: 'quay.io/example/runner:1', playbook: 'LSBob3N0czogYWxsCg==', deadline: 300 },
    },
    changes,
  );

/** The uids of the run that moves `web`. */
export const RUN: RunId = {
  plan: 'uid-of-plan',
  migration: '6f1f3fb2-9e4a-4f0c-a6d5-2f3c5c1a9b10',
  vm: 'b2a5b1d6-9d2c-4b7c-8c39-7ab19bd0c3a1',
};

const DISK = { name: 'root', dataVolume: { name: 'web-root' } };
const TEMPLATE: VmTemplate = {
  metadata: { labels: { app: 'web' } },
  spec: {
    domain: {
      memory: { guest: '4Gi' },
      devices: {
        disks: [{ name: 'root', disk: { bus: 'virtio' } }],
        interfaces: [{ name: 'default', masquerade: {} }],
      },
    },
    volumes: [DISK],
    networks: [{ name: 'default', pod: {} }],
  },
};

/** The VM `web` of namespace `vms`, which runs always. */
export const aVm = (...changes: Change<VirtualMachine>[]): VirtualMachine =>
  build<VirtualMachine>(
    {
      ...LIVE_KIND.vm,
      metadata: { ...metadata('web'), namespace: 'vms', uid: RUN.vm },
      spec: { runStrategy: 'Always', template: TEMPLATE },
      status: { printableStatus: 'Running' },
    },
    changes,
  );

/** Its VMI, on `s-node`. */
export const itsVmi = (...changes: Change<Vmi>[]): Vmi =>
  build<Vmi>(
    {
      ...KIND.vmi,
      metadata: { ...metadata('web'), namespace: 'vms', uid: 'uid-of-source-vmi' },
      spec: TEMPLATE.spec,
      status: { phase: 'Running', nodeName: 's-node' },
    },
    changes,
  );

/** What the run has recorded on `web`, before its first attempt. */
export const aRecord = (...changes: Change<RunRecord>[]): RunRecord =>
  build<RunRecord>(
    {
      v: 1,
      migration: { namespace: 'tenant', name: 'migration', uid: RUN.migration },
      hub: 'hub',
      vm: RUN.vm,
      vmi: 'uid-of-source-vmi',
      runStrategy: 'Always',
      target: { cluster: 'target', namespace: 'target', name: 'web' },
      startedAt: seconds(-60),
      transferSeconds: 3_600,
      attempt: 0,
      hooks: [],
      marks: [],
    },
    changes,
  );
