import type { Claim } from '../../../functions/domain/live/kubevirt.ts';
import type { VmStatus } from '../../../functions/domain/live/forklift.ts';
import { LIVE_ANNOTATION, LIVE_KIND, LIVE_LABEL } from '../../../functions/domain/live/names.ts';
import type { RunId } from '../../../functions/domain/live/run-names.ts';
import type {
  HubSide,
  RunSnapshot,
  SourceSide,
  Stop,
  TargetSide,
} from '../../../functions/domain/live/run-snapshot.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { metadata } from '../../support/builders/object.ts';
import { aRun } from '../../support/builders/live-run.ts';
import { aPlan, RUN } from '../../support/builders/live.ts';
import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import type { Vmim } from '../../cluster/kubevirt/types.ts';
import { CLAIM, DATA_VOLUMES, NAME, type Clusters } from './clusters.ts';

/** What the hub has. */
export interface Hub {
  run: RunId;
  stop: Stop | undefined;
  status: VmStatus | undefined;
  /** Of the Migration: a new one with each status. */
  version: number;
  /** The target namespace is being deleted, and never goes. */
  isNamespaceGoing: boolean;
}

export const newHub = (clusters: Clusters): Hub => ({
  run: { ...RUN, vm: clusters.vm('source')?.metadata.uid ?? '' },
  stop: undefined,
  status: undefined,
  version: 1,
  isNamespaceGoing: false,
});

const CLAIM_ON_SOURCE: Claim = {
  ...LIVE_KIND.claim,
  metadata: metadata(CLAIM),
  spec: { storageClassName: 'fast', resources: { requests: { storage: '5Gi' } } },
};

/** By the labels; the product's own are not asked. */
const isOurs = ({ run }: Hub, object: { metadata: { labels?: Record<string, string> } }): boolean =>
  object.metadata.labels?.[LIVE_LABEL.migration] === run.migration &&
  object.metadata.labels[LIVE_LABEL.vm] === run.vm;

const isFinal = ({ status }: Vmim): boolean => ['Succeeded', 'Failed'].includes(status?.phase ?? '');

/** A call reads in this order, each object at another time: `pause` is between them. */
export async function readAll(
  clusters: Clusters,
  hub: Hub,
  pause: (side?: Side) => Promise<void>,
): Promise<RunSnapshot> {
  const side = hubSide(clusters, hub);
  await pause();
  const source = await readSource(clusters, hub, () => pause('source'));
  const target = await readTarget(clusters, hub, { source, pause: () => pause('target') });
  return { run: hub.run, hub: side, source, target };
}

const attemptIn = (content: string): number => Number(/"attempt":(\d+)/.exec(content)?.[1] ?? 0);
const recordIn = (vm: Pick<KubernetesObject, 'metadata'> | undefined): string =>
  vm?.metadata.annotations?.[LIVE_ANNOTATION.run] ?? '';

async function readSource(clusters: Clusters, hub: Hub, pause: () => Promise<void>): Promise<SourceSide> {
  await pause();
  const vm = clusters.vm('source');
  const managedFields = [{ manager: clusters.strategyBy, fieldsV1: { 'f:spec': { 'f:runStrategy': {} } } }];
  const found = vm && { ...vm, metadata: { ...vm.metadata, managedFields } };
  await pause();
  const vmi = clusters.vmi('source');
  await pause();
  const vmims = clusters.vmims('source');
  await pause();
  const pods = clusters.pods('source');
  const isBegun = attemptIn(recordIn(vm)) > 0;
  return {
    now: clusters.now,
    cluster: 'source',
    vm: found,
    vmi,
    vmims: vmims.filter((vmim) => isOurs(hub, vmim)),
    others: vmims.filter((vmim) => !isOurs(hub, vmim) && !isFinal(vmim)),
    pods,
    setup: isBegun ? undefined : { claims: new Map([[CLAIM, CLAIM_ON_SOURCE]]), resources: [] },
  } as unknown as SourceSide;
}

interface AfterSource {
  readonly source: SourceSide;
  readonly pause: () => Promise<void>;
}

async function readTarget(clusters: Clusters, hub: Hub, { source, pause }: AfterSource): Promise<TargetSide> {
  await pause();
  const vm = clusters.vm('target');
  await pause();
  const vmi = clusters.vmi('target');
  await pause();
  const vmims = clusters.vmims('target');
  await pause();
  const pods = clusters.pods('target');
  await pause();
  const volumes = clusters.all('target', DATA_VOLUMES);
  const record = recordIn(source.vm);
  const isNeeded = record === '' || record.includes('"end":');
  const made = { volumes: volumes.filter((volume) => isOurs(hub, volume)), unused: [] };
  return {
    now: clusters.now,
    cluster: 'target',
    namespace: {
      ...LIVE_KIND.namespace,
      metadata: {
        ...metadata('tenant-target'),
        ...(hub.isNamespaceGoing && { deletionTimestamp: new Date(clusters.now).toISOString() }),
      },
    },
    vm,
    vmi,
    vmims: vmims.filter((vmim) => isOurs(hub, vmim)),
    pods,
    setup:
      attemptIn(record) > 0 ? undefined : { volumes, resources: [], quotas: [], claimProperties: new Map() },
    fit: { missing: clusters.isFull ? 'cpu' : undefined, isLetIn: false },
    launched: undefined,
    over: '',
    made: isNeeded ? made : undefined,
  } as unknown as TargetSide;
}

function hubSide({ now, pair }: Clusters, { stop, status }: Hub): HubSide {
  const plan = aPlan((one) => ({ ...one, spec: { ...one.spec, targetNamespace: pair.target.namespace } }));
  const entry = { name: NAME, namespace: pair.source.namespace };
  return aRun({ hub: { now, stop, status, plan, entry } }).hub;
}
