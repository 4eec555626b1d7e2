import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import type { ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import { PLAN_MIGRATIONS, PLANS } from '../../../../functions/kubernetes/live-resources.ts';
import {
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  newMigration,
  VMS,
} from '../../../cluster/kubevirt/objects/objects.ts';
import type { Side } from '../../../cluster/kubevirt/decentralized/sides.ts';
import type { LauncherPod } from '../../../cluster/kubevirt/objects/types.ts';
import type { Random } from '../../engine/random.ts';
import { CLAIM, DATA_VOLUMES, NAME, type Clusters } from './clusters.ts';
import type { Hub } from './hub.ts';

interface Scene {
  readonly clusters: Clusters;
  readonly hub: Hub;
  readonly random: Random;
}

/** Something bad, or a user: false where it is not possible now. */
type Disturbance = (scene: Scene) => boolean;

const at = ({ metadata }: KubernetesObject): { name: string; namespace: string } => ({
  name: metadata.name,
  namespace: metadata.namespace ?? '',
});

function losePods({ clusters }: Scene, side: Side, isLost: (pod: LauncherPod) => boolean): boolean {
  const pods = clusters.pods(side).filter(isLost);
  const { admin } = clusters.pair[side];
  for (const pod of pods) clusters.try(admin.delete(LAUNCHER_PODS, at(pod), { gracePeriodSeconds: 0 }));
  return pods.length > 0;
}

function failPods({ clusters }: Scene, side: Side): boolean {
  const pods = clusters.pods(side).filter(({ status }) => status?.phase === 'Running');
  const conditions = [{ type: 'Ready', status: 'False', reason: 'PodCompleted' }];
  const change = { merge: { status: { phase: 'Failed', conditions } }, subresource: 'status' as const };
  for (const pod of pods) clusters.try(clusters.pair[side].admin.patch(LAUNCHER_PODS, at(pod), change));
  return pods.length > 0;
}

const isOver = ({ status }: { status?: { phase?: string } }): boolean =>
  ['Succeeded', 'Failed'].includes(status?.phase ?? '');

function deleteVmims({ clusters }: Scene, side: Side): boolean {
  const vmims = clusters.vmims(side).filter((vmim) => !isOver(vmim));
  for (const vmim of vmims) clusters.try(clusters.pair[side].admin.delete(FULL_MIGRATIONS, at(vmim)));
  return vmims.length > 0;
}

function restart({ clusters }: Scene, side: Side): boolean {
  clusters.try(clusters.pair[side].restartSynchronization());
  return true;
}

function setStrategy({ clusters }: Scene, runStrategy: 'Always' | 'Halted'): boolean {
  const vm = clusters.vm('source');
  if (vm === undefined) return false;
  const { running: _running, ...spec } = vm.spec;
  clusters.strategiesOfUser.push(runStrategy);
  clusters.try(
    clusters.replace('source', { ...vm, spec: { ...spec, runStrategy } } as KubernetesObject, 'kubectl'),
  );
  return true;
}

function deleteVm({ clusters }: Scene, side: Side): boolean {
  const vm = clusters.vm(side);
  if (vm === undefined) return false;
  clusters.try(clusters.pair[side].admin.delete(VMS, at(vm)));
  return true;
}

function removeRecord({ clusters }: Scene): boolean {
  const vm = clusters.vm('source');
  const { 'live.mtq.kubevirt.io/run': record, ...annotations } = vm?.metadata.annotations ?? {};
  if (vm === undefined || record === undefined) return false;
  clusters.try(clusters.replace('source', { ...vm, metadata: { ...vm.metadata, annotations } }, 'kubectl'));
  return true;
}

function evacuate({ clusters }: Scene): boolean {
  const vmi = clusters.vmi('source');
  const node = vmi?.status?.nodeName;
  if (vmi === undefined || node === undefined) return false;
  const merge = { status: { evacuationNodeName: node } };
  clusters.try(clusters.pair.source.admin.patch(FULL_VMIS, at(vmi), { merge }));
  return true;
}

function migrateLocally({ clusters }: Scene): boolean {
  const { admin, namespace } = clusters.pair.source;
  if (clusters.vmi('source') === undefined || clusters.vmims('source').some((vmim) => !isOver(vmim)))
    return false;
  const name = `local-${String(clusters.now)}`;
  clusters.try(admin.create(FULL_MIGRATIONS, newMigration({ namespace, name, vmi: NAME })));
  return true;
}

const cuts = new WeakMap<Clusters, () => void>();

function toggleNetwork({ clusters }: Scene): boolean {
  const reconnect = cuts.get(clusters);
  cuts.delete(clusters);
  if (reconnect === undefined) cuts.set(clusters, clusters.pair.network.cut(clusters.pair.target.address));
  else reconnect();
  return true;
}

function foreignVolume({ clusters }: Scene): boolean {
  const { admin, namespace } = clusters.pair.target;
  if (clusters.one('target', DATA_VOLUMES, CLAIM) !== undefined) return false;
  clusters.try(admin.create(DATA_VOLUMES, { metadata: { namespace, name: CLAIM } } as never));
  return true;
}

function deleteHeld({ clusters, hub }: Scene, type: ResourceType): boolean {
  const [object] = hub.store.list(type.kind);
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return false;
  clusters.try(hub.admin.delete(type, at(object)));
  return true;
}

const toggleAway =
  (side: Side): Disturbance =>
  ({ clusters: { away } }) => {
    away[side] = !away[side];
    return true;
  };

const SECONDS = [1, 5, 11, 60, 20 * 60, 2 * 3_600];

export const DISTURBANCES: Readonly<Record<string, Disturbance>> = {
  'source launcher is lost': (scene) => losePods(scene, 'source', () => true),
  'source launcher fails': (scene) => failPods(scene, 'source'),
  'target launcher is lost': (scene) => losePods(scene, 'target', () => true),
  'target launcher fails': (scene) => failPods(scene, 'target'),
  'ended launchers are collected': (scene) => losePods(scene, 'source', isOver),
  'source synchronization restarts': (scene) => restart(scene, 'source'),
  'target synchronization restarts': (scene) => restart(scene, 'target'),
  'source VMIM is deleted': (scene) => deleteVmims(scene, 'source'),
  'target VMIM is deleted': (scene) => deleteVmims(scene, 'target'),
  'source node is drained': evacuate,
  'local migration': migrateLocally,
  'network goes or comes': toggleNetwork,
  'source API goes or comes': toggleAway('source'),
  'target API goes or comes': toggleAway('target'),
  'quota is filled or freed': ({ clusters }) => {
    clusters.try(clusters.limit(!clusters.isFull));
    return true;
  },
  'Migration is canceled': ({ clusters, hub }) => {
    if (hub.migration === undefined) return false;
    clusters.try(hub.cancel());
    return true;
  },
  'Plan is archived': ({ clusters, hub }) => {
    if (hub.plan === undefined) return false;
    clusters.try(hub.archive());
    return true;
  },
  'Migration is deleted': (scene) => deleteHeld(scene, PLAN_MIGRATIONS),
  'Plan is deleted': (scene) => deleteHeld(scene, PLANS),
  'time passes': ({ clusters, random }) => {
    clusters.pair.schedule.time.now += random.pick(SECONDS) * 1_000;
    return true;
  },
};

/** What users do to the VMs: afterwards the source need not be as it was. */
export const USERS: Readonly<Record<string, Disturbance>> = {
  'source VM is halted': (scene) => setStrategy(scene, 'Halted'),
  'source VM is set to Always': (scene) => setStrategy(scene, 'Always'),
  'source VM is started': ({ clusters }) => {
    if (clusters.vmi('source') !== undefined) return false;
    clusters.try(clusters.request({ action: 'Start' }));
    return true;
  },
  'source VM is stopped': ({ clusters }) => {
    const uid = clusters.vmi('source')?.metadata.uid;
    if (
      uid === undefined ||
      !['Manual', 'RerunOnFailure'].includes(clusters.vm('source')?.spec.runStrategy ?? '')
    )
      return false;
    clusters.try(clusters.request({ action: 'Stop', uid }));
    return true;
  },
  'source VM is restarted': ({ clusters }) => {
    const uid = clusters.vmi('source')?.metadata.uid;
    // As virt-api does.
    if (uid === undefined || ['Halted', 'Once'].includes(clusters.vm('source')?.spec.runStrategy ?? ''))
      return false;
    clusters.try(clusters.request({ action: 'Stop', uid }, { action: 'Start' }));
    return true;
  },
  'source VM is deleted': (scene) => deleteVm(scene, 'source'),
  'target VM is deleted': (scene) => deleteVm(scene, 'target'),
  'record is removed': removeRecord,
  'foreign volume': foreignVolume,
};

/** The faults end: everything answers, fits and is connected again. */
export async function calm(scene: Scene): Promise<void> {
  const { clusters } = scene;
  Object.assign(clusters.away, { source: false, target: false, hub: false });
  if (cuts.has(clusters)) toggleNetwork(scene);
  await clusters.limit(false);
}
