import type { DataVolume } from '../../../../functions/domain/live/kubevirt.ts';
import { LIVE_KIND } from '../../../../functions/domain/live/names.ts';
import type { KubernetesObject, ResourceQuota } from '../../../../functions/domain/objects.ts';
import { parseQuantity } from '../../../../functions/domain/quantity.ts';
import { ApiError } from '../../../../functions/kubernetes/errors.ts';
import type { ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import { RESOURCE_QUOTAS } from '../../../../functions/kubernetes/resources.ts';
import type { Side } from '../../../cluster/kubevirt/decentralized/sides.ts';
import {
  createBoundClaim,
  FULL_CLAIMS,
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  newVirtualMachine,
  VMS,
} from '../../../cluster/kubevirt/objects/objects.ts';
import type {
  LauncherPod,
  StateChangeRequest,
  Vm,
  Vmi,
  Vmim,
} from '../../../cluster/kubevirt/objects/types.ts';
import { exchangeTrust } from '../../../support/kubevirt/pair.ts';
import type { Random } from '../../engine/random.ts';
import { simulatePair, type SimulatedPair } from '../../world/two-kubevirts.ts';

/** Whose API server. */
export type Server = Side | 'hub';

/** How the VM is to run on the source; `running` is the older form of Always. */
type Strategy = 'Always' | 'RerunOnFailure' | 'Manual' | 'Once' | 'running';
export const STRATEGIES: readonly Strategy[] = ['Always', 'RerunOnFailure', 'Manual', 'Once', 'running'];

export const NAME = 'web';
export const CLAIM = 'root';

export const DATA_VOLUMES: ResourceType<DataVolume> = {
  ...LIVE_KIND.dataVolume,
  plural: 'datavolumes',
  namespaced: true,
};

const TYPES: readonly ResourceType[] = [
  VMS,
  FULL_VMIS,
  FULL_MIGRATIONS,
  LAUNCHER_PODS,
  FULL_CLAIMS,
  DATA_VOLUMES,
];

/** The model's own annotation, which changes with each write by somebody but KubeVirt: the model keeps no managedFields. */
const WRITER = 'simulation/writer';

const TIGHT = { pods: '10', 'requests.cpu': '300m', 'requests.memory': '600Mi' };
const WIDE = { pods: '10', 'requests.cpu': '8', 'requests.memory': '9Gi' };

export const isRecorded = (vm: Vm | undefined): boolean =>
  vm?.metadata.annotations?.['live.mtq.kubevirt.io/run'] !== undefined;

/** Both clusters with their KubeVirts in virtual time, and CDI and garbage collection as far as a run meets them. */
export class Clusters {
  readonly pair: SimulatedPair;
  readonly strategy: Strategy;
  /** Who set the source VM's run strategy last. */
  strategyBy = 'kubectl';
  /** When, milliseconds. */
  strategyAt = 0;
  /** When KubeVirt has halted it last, milliseconds. */
  haltedByKubeVirtAt = -Infinity;
  /** When the run has written it last, milliseconds. */
  writtenAt = 0;
  /** When its record went, milliseconds; Infinity: it has one, or had none. */
  recordGoneAt = Infinity;
  /** What a user has set it to since, also by a start, for which KubeVirt sets a halted VM to Always. */
  readonly strategiesOfUser: string[] = [];
  /** Reads and writes there are not answered. */
  readonly away: Record<Server, boolean> = { source: false, target: false, hub: false };
  isFull = false;
  /** How often the source VM was about to run without the VMI that was to move. */
  startedOnSource = 0;
  /** Since when the source VM has no VMI, milliseconds; Infinity: it has one. */
  downSince = Infinity;
  /** Since when the target's namespace has been over its quota, milliseconds; undefined: it is not. */
  overSince: number | undefined;
  /** When a user has edited the source VM, milliseconds; Infinity: nobody has. */
  editedAt = Infinity;
  #writes = 0;

  constructor(pair: SimulatedPair, strategy: Strategy) {
    this.pair = pair;
    this.strategy = strategy;
    pair.stores.target.onChange(({ type, object }) => {
      if (type === 'ADDED' && object.kind === DATA_VOLUMES.kind) this.#later(() => this.#populate(object));
      if (object.kind === RESOURCE_QUOTAS.kind)
        this.overSince = isExceeded(object as ResourceQuota) ? (this.overSince ?? this.now) : undefined;
    });
    for (const side of ['source', 'target'] as const)
      pair.stores[side].onChange(({ type, object }) => {
        if (type === 'DELETED') this.#later(() => this.#collect(side, object));
      });
    pair.stores.source.onChange(({ type, object, before }) => {
      const isGone = type === 'DELETED' && object.kind === FULL_VMIS.kind;
      if (isGone && this.vm('source')?.spec.runStrategy !== 'Halted') this.startedOnSource += 1;
      if (object.kind === FULL_VMIS.kind) this.downSince = isGone ? this.now : Infinity;
      if (type === 'MODIFIED' && object.kind === VMS.kind) this.#noteWrite(object as Vm, before as Vm);
    });
  }

  get now(): number {
    return this.pair.schedule.time.now;
  }

  one<T extends KubernetesObject>(side: Side, type: ResourceType<T>, name = NAME): T | undefined {
    return this.pair.stores[side].get<T>({ kind: type.kind, namespace: this.pair[side].namespace, name });
  }

  all<T extends KubernetesObject>(side: Side, type: ResourceType<T>): readonly T[] {
    return this.pair.stores[side].list<T>(type.kind, this.pair[side].namespace);
  }

  vm = (side: Side): Vm | undefined => this.one(side, VMS);
  vmi = (side: Side): Vmi | undefined => this.one(side, FULL_VMIS);
  vmims = (side: Side): readonly Vmim[] => this.all(side, FULL_MIGRATIONS);
  pods = (side: Side): readonly LauncherPod[] =>
    this.all(side, LAUNCHER_PODS).filter(
      ({ metadata }) => metadata.labels?.['kubevirt.io'] === 'virt-launcher',
    );

  /** PUT by the version that was read. */
  async replace(side: Side, object: KubernetesObject, writer: string): Promise<void> {
    const { managedFields: _fields, ...metadata } = object.metadata;
    this.#writes += 1;
    const annotations =
      object.kind === VMS.kind
        ? { ...metadata.annotations, [WRITER]: `${writer} ${String(this.#writes)}` }
        : metadata.annotations;
    const next = { ...object, metadata: { ...metadata, ...(annotations && { annotations }) } };
    await this.pair[side].admin.replace(typeOf(object), next);
    if (side === 'source' && object.kind === VMS.kind && writer === 'live') this.writtenAt = this.now;
  }

  async replaceStatus(side: Side, object: KubernetesObject): Promise<void> {
    const { managedFields: _fields, ...metadata } = object.metadata;
    await this.pair[side].admin.replace(typeOf(object), { ...object, metadata }, { subresource: 'status' });
  }

  async create(side: Side, object: { kind?: string; metadata: { name: string } }): Promise<void> {
    if (object.kind === FULL_MIGRATIONS.kind) this.#admit(side, object as Vmim);
    const { apiVersion: _version, ...rest } = object as KubernetesObject;
    await this.pair[side].admin.create(typeOf(object), withFinalizer(rest as KubernetesObject));
  }

  async remove(side: Side, { metadata, ...object }: KubernetesObject, isAsRead: boolean): Promise<void> {
    const { name, namespace = '', uid, resourceVersion } = metadata;
    const preconditions = { uid, ...(isAsRead ? { resourceVersion } : {}) };
    await this.pair[side].admin.delete(typeOf(object), { name, namespace }, { preconditions });
  }

  /** What comes of a user's or an admin's request does not matter here. */
  try(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
    });
  }

  async limit(isFull: boolean): Promise<void> {
    this.isFull = isFull;
    const { admin, namespace } = this.pair.target;
    await admin.patch(
      RESOURCE_QUOTAS,
      { namespace, name: 'quota' },
      { merge: { spec: { hard: isFull ? TIGHT : WIDE } } },
    );
  }

  async begin(): Promise<void> {
    const { source, target } = this.pair;
    await exchangeTrust(this.pair);
    await target.admin.create(RESOURCE_QUOTAS, {
      metadata: { namespace: target.namespace, name: 'quota' },
      spec: { hard: WIDE },
    });
    const claim = { namespace: source.namespace, name: CLAIM };
    await createBoundClaim(source.admin, { ...claim, size: '5Gi' });
    await source.admin.patch(FULL_CLAIMS, claim, { merge: { spec: { storageClassName: 'fast' } } });
    const vm = newVirtualMachine({
      namespace: source.namespace,
      name: NAME,
      claims: [CLAIM],
      runStrategy: this.strategy,
    });
    vm.spec.template.spec.volumes = [{ name: CLAIM, dataVolume: { name: CLAIM } }];
    await source.admin.create(VMS, vm);
    if (this.strategy === 'Manual') await this.request({ action: 'Start' });
    await this.pair.until(
      'the source VM runs',
      () => this.vm('source')?.status?.printableStatus === 'Running',
    );
  }

  /** virtctl start, stop or restart of the source VM. */
  async request(...stateChangeRequests: readonly StateChangeRequest[]): Promise<void> {
    const { admin, namespace } = this.pair.source;
    const merge = { status: { stateChangeRequests } };
    await admin.patch(VMS, { namespace, name: NAME }, { merge, subresource: 'status' });
  }

  #noteWrite(vm: Vm, before: Vm): void {
    if (isRecorded(vm)) this.recordGoneAt = Infinity;
    else if (isRecorded(before)) this.recordGoneAt = this.now;
    this.#noteStrategy(vm, before);
  }

  #noteStrategy({ spec, metadata }: Vm, before: Vm): void {
    if (spec.runStrategy === before.spec.runStrategy && spec.running === before.spec.running) return;
    const writer = metadata.annotations?.[WRITER];
    const isOurs = writer !== undefined && writer !== before.metadata.annotations?.[WRITER];
    this.strategyBy = isOurs ? (writer.split(' ')[0] ?? '') : 'virt-controller';
    this.strategyAt = this.now;
    if (this.strategyBy === 'virt-controller') this.#noteOfKubeVirt(spec.runStrategy);
  }

  #noteOfKubeVirt(strategy: string | undefined): void {
    if (strategy === 'Halted') this.haltedByKubeVirtAt = this.now;
    if (strategy === 'Always') this.strategiesOfUser.push('Always');
  }

  /** virt-api's webhook for VMIMs (facts/cross-cluster.md C4). */
  #admit(side: Side, { spec, metadata }: Vmim): void {
    const vmi = this.one(side, FULL_VMIS, spec.vmiName);
    if (vmi === undefined || isOver(vmi)) throw refusal('the VMI does not exist, or is final', this.now);
    const isBusy = this.vmims(side).some((vmim) => vmim.metadata.name !== metadata.name && !isOver(vmim));
    if (isBusy) throw refusal('in-flight migration detected', this.now);
  }

  #later(work: () => Promise<void>): void {
    this.pair.schedule.later('cluster', 20, () => this.try(work()));
  }

  /** CDI. */
  async #populate({ metadata: { name, namespace = '', uid } }: KubernetesObject): Promise<void> {
    const { admin } = this.pair.target;
    const { apiVersion, kind } = DATA_VOLUMES;
    const ownerReferences = [{ apiVersion, kind, name, uid, controller: true }];
    await createBoundClaim(admin, { namespace, name, size: '5Gi' });
    await admin.patch(FULL_CLAIMS, { namespace, name }, { merge: { metadata: { ownerReferences } } });
    const merge = { status: { phase: 'Succeeded' } };
    await admin.patch(DATA_VOLUMES, { namespace, name }, { merge, subresource: 'status' });
  }

  /** Garbage collection: volumes of a VM, claims of a volume. */
  async #collect(side: Side, { kind, metadata }: KubernetesObject): Promise<void> {
    const { admin, namespace } = this.pair[side];
    if (kind === DATA_VOLUMES.kind) await admin.delete(FULL_CLAIMS, { namespace, name: metadata.name });
    if (kind !== VMS.kind) return;
    for (const { metadata: volume } of this.all(side, DATA_VOLUMES))
      if (volume.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true)
        await admin.delete(DATA_VOLUMES, { namespace, name: volume.name });
  }
}

/** A write that admission refuses. */
const refusal = (message: string, now: number): ApiError =>
  new ApiError('create', { code: 422, reason: 'Invalid', message }, new Date(now));

const isExceeded = ({ spec, status }: ResourceQuota): boolean =>
  Object.entries(spec.hard ?? {}).some(
    ([key, hard]) => parseQuantity(status?.used?.[key] ?? '0') > parseQuantity(hard),
  );

const isOver = ({ status }: { status?: { phase?: string } }): boolean =>
  ['Succeeded', 'Failed'].includes(status?.phase ?? '');

function typeOf({ kind = '' }: { kind?: string }): ResourceType {
  const type = TYPES.find((one) => one.kind === kind);
  if (type === undefined) throw new Error(`a write of kind ${kind}`);
  return type;
}

/** As virt-api's mutating webhook leaves a VMIM. */
const withFinalizer = (object: KubernetesObject): KubernetesObject =>
  object.kind === FULL_MIGRATIONS.kind
    ? {
        ...object,
        metadata: {
          ...object.metadata,
          finalizers: ['kubevirt.io/migrationJobFinalize'],
          labels: { ...object.metadata.labels, 'kubevirt.io/vmi-name': (object as Vmim).spec.vmiName ?? '' },
        },
      }
    : object;

export async function startClusters(random: Random): Promise<Clusters> {
  const seed = random.below(2 ** 31);
  // As the recorded KubeVirt does; a later one clears them (facts/cross-cluster.md §C7).
  const keepsSides = seed % 4 !== 0;
  const pair = await simulatePair({ seed, keepsSides, hasVirtApi: random.chance(0.5) });
  const clusters = new Clusters(pair, random.pick(STRATEGIES));
  await pair.run(() => clusters.begin());
  return clusters;
}
