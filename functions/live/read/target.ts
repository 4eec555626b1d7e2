import type { StorageMap } from '../../domain/live/forklift.ts';
import type { ClaimProperties, DataVolume, VirtualMachine, Vmim } from '../../domain/live/kubevirt.ts';
import { LIVE_LABEL } from '../../domain/live/names.ts';
import { isMadeBy, isNoSecret, keyOf, keyOfObject, resourcesOf } from '../on-target/resources.ts';
import type { RunId } from '../run/names.ts';
import { isPastCutOver, recordIn, type RunRecord } from '../run/record.ts';
import type { MadeObjects, RunSnapshot, SourceSide, TargetSetup, TargetSide } from '../run/snapshot.ts';
import { isUnfilled } from '../on-target/filling.ts';
import { hasTargetPod, vmimOf } from '../guest/proofs.ts';
import { overQuota } from '../on-target/quota.ts';
import { neededVolumes, type NeededVolume } from '../on-target/volumes.ts';
import { wasRejectedByQuota } from '../../domain/migration.ts';
import { KIND, KUBEVIRT } from '../../domain/names.ts';
import type { KubernetesObject, Namespace, Pod } from '../../domain/objects.ts';
import { LISTED_PODS } from '../../cluster/listed.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import {
  DATA_VOLUMES,
  STORAGE_PROFILES,
  VIRTUAL_MACHINES,
  WHOLE_CLAIMS,
  WHOLE_VMIS,
} from '../../kubernetes/live-resources.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../kubernetes/resources.ts';
import { getOrUndefined, getIfServed, unlessForbidden, listIfServed } from './get.ts';
import { FITS, readDataVolumes, readFit } from './fit.ts';
import { readRefusal } from './refusal.ts';
import { COPIED, readResources } from './resources.ts';
import { readIsQueued } from './slots.ts';
import { isBeforeLaunch, isLauncherToCome, isSettingUp, readIdentity, type Identity } from './source.ts';
import { ofRun, readVmims, type VmAt } from './vmims.ts';

/** The input for reading the target. */
export interface TargetRequest {
  readonly run: RunId;
  /** The VM on the target. */
  readonly at: VmAt;
  readonly record: RunRecord | undefined;
  /** The VM on the source. */
  readonly vm: VirtualMachine | undefined;
  readonly storage: StorageMap;
  /** The reading before in the same event. */
  readonly known: (Identity & Pick<TargetSide, 'namespace' | 'setup'>) | undefined;
}

type TargetCore = Omit<
  TargetSide,
  'setup' | 'fit' | 'launched' | 'isFilledLate' | 'isQueued' | 'refusal' | 'over' | 'made'
>;

/** Reads the target; the parts that depend on the source's pods come last. */
export async function readTargetSide(
  reader: Reader,
  request: TargetRequest,
  source: Promise<SourceSide>,
): Promise<TargetSide> {
  const { run, at, record } = request;
  const [[vm, { now, cluster }], namespace, vmi, { vmims, taken, local }] = await Promise.all([
    readVm(reader, request),
    readNamespace(reader, request),
    getOrUndefined(reader.get(WHOLE_VMIS, at)),
    readVmims(reader, at, { run, record }),
  ]);
  const [launchers, setup, made] = await Promise.all([
    areLaunchersNeeded(record) ? readLaunchers(reader, at) : [],
    isSettingUp(record) && namespace !== undefined ? readSetup(reader, request) : undefined,
    mayHaveMade(record) ? readMadeIn(namespace, reader, request) : undefined,
  ]);
  const core: TargetCore = {
    ...{ now, cluster, namespace, vm, vmi, vmims, taken, local },
    pods: launchers.filter((pod) => vmiNamesOf(pod).includes(at.name)),
  };
  const launching =
    isLauncherToCome(record) && !hasTargetPod(core)
      ? await readLaunching(reader, { request, core, launchers }, source)
      : FITS;
  return { ...core, over: undefined, setup, made, ...launching };
}

/** Reads the VM, and which cluster answers. The VM that the attempts are for says that by its uid, as the one of kube-system would. */
async function readVm(
  reader: Reader,
  { at, record, known }: TargetRequest,
): Promise<[VirtualMachine | undefined, Identity]> {
  const reading = reader.get(VIRTUAL_MACHINES, at);
  const vm = await getOrUndefined(reading);
  const isReceiver = record?.receiver !== undefined && vm?.metadata.uid === record.receiver;
  if (!isReceiver) return [vm, known ?? (await readIdentity(reader))];
  return [vm, known ?? { now: (await reading).date.getTime(), cluster: record.target.cluster }];
}

/**
 * Reads the namespace once in an event, while something may be made in it, or removed from it. Admission keeps objects from being made in
 * one that is going by then. The record may name another namespace than the plan.
 */
async function readNamespace(
  reader: Reader,
  { at: { namespace: name }, record, known }: TargetRequest,
): Promise<Namespace | undefined> {
  if (record !== undefined && isPastCutOver(record)) return undefined;
  const before = known?.namespace;
  return before?.metadata.name === name ? before : getOrUndefined(reader.get(NAMESPACES, { name }));
}

/** Whether launchers decide anything: not before the first attempt, nor once the guest has arrived. */
const areLaunchersNeeded = (record: RunRecord | undefined): boolean =>
  !isBeforeLaunch(record) && record?.arrivedAt === undefined;

interface Launching {
  readonly request: TargetRequest;
  readonly core: TargetCore;
  /** Launchers of the whole namespace. */
  readonly launchers: readonly Pod[];
}

/** Reads the conditions that the launcher waits for. */
async function readLaunching(
  reader: Reader,
  { request: { run, at, record }, core, launchers }: Launching,
  source: Promise<SourceSide>,
): Promise<Pick<TargetSide, 'fit' | 'launched' | 'isFilledLate' | 'isQueued' | 'refusal'>> {
  const { namespace, vm, vmi, vmims, now } = core;
  const { attempt = 0 } = record ?? {};
  const received = vmimOf(vmims, run, attempt);
  const [isQueued, refusal] = await Promise.all([
    readIsQueued(reader, received, now),
    readRefusal(reader, { vmi, received, now }),
  ]);
  const unfilled = await readUnfilled(reader, { run, record, vm, vmims }, source);
  // A launcher is on a node once its volumes are bound, and filled if they waited for it: before, CDI may take more.
  const scheduled = launchers.filter(({ spec }) => spec.nodeName !== undefined);
  const launched = new Set(scheduled.flatMap(vmiNamesOf));
  const sent = vmimOf((await source).vmims, run, attempt);
  const fit =
    namespace !== undefined && isFitNeeded(received, sent)
      ? await readFit(reader, { at, namespace, unfilled, source: await source, launched })
      : FITS;
  return { ...fit, isFilledLate: unfilled.length > 0, isQueued, refusal };
}

/** Whether the fit decides anything: before the source's VMIM is made, which waits for it, and where a quota has refused the launcher. */
const isFitNeeded = (received: Vmim | undefined, sent: Vmim | undefined): boolean =>
  received !== undefined && (sent === undefined || wasRejectedByQuota(received));

/** Reads the objects that the run has made. A namespace that is not there has none, and no Role there can give the right to look. */
const readMadeIn = async (
  namespace: Namespace | undefined,
  reader: Reader,
  request: TargetRequest,
): Promise<MadeObjects> =>
  namespace === undefined ? { volumes: [], unused: [] } : readMade(reader, request);

/** Reads the volumes that wait for the launcher, until both VMIMs that bring it are made. */
async function readUnfilled(
  reader: Reader,
  { run, record, vm, vmims }: Pick<TargetRequest, 'run' | 'record'> & Pick<TargetCore, 'vm' | 'vmims'>,
  source: Promise<SourceSide>,
): Promise<readonly DataVolume[]> {
  if (vm === undefined) return [];
  const received = vmimOf(vmims, run, record?.attempt ?? 0);
  if (received !== undefined && (await source).vmims.length > 0) return [];
  return (await readDataVolumes(reader, run, vm)).filter(isUnfilled);
}

async function readLaunchers(reader: Reader, { namespace }: VmAt): Promise<readonly Pod[]> {
  const labelSelector = `${KUBEVIRT.launcherLabel}=${KUBEVIRT.launcher}`;
  return (await reader.list(LISTED_PODS, { namespace, labelSelector })).items;
}

/**
 * Names of the VMI that a launcher is of, also one that is gone: the absence of a launcher is a proof. A pod cannot choose its owner, but
 * may have chosen its labels.
 */
const vmiNamesOf = ({ metadata }: Pod): string[] =>
  (metadata.ownerReferences ?? []).filter(({ kind }) => kind === KIND.vmi.kind).map(({ name }) => name);

async function readSetup(
  reader: Reader,
  { at: { namespace }, vm, storage, known }: TargetRequest,
): Promise<TargetSetup> {
  const needed = vm === undefined ? [] : neededVolumes(vm);
  const isWithoutMode = needed.some(({ isDataVolume }) => !isDataVolume);
  const classes = storage.spec.map.map(({ destination }) => destination.storageClass);
  const [found, named, claimProperties] = await Promise.all([
    Promise.all(
      needed.flatMap(({ name, isDataVolume }) => [
        getOrUndefined(reader.get(WHOLE_CLAIMS, { namespace, name })),
        isDataVolume
          ? getIfServed(reader.get(DATA_VOLUMES, { namespace, name }))
          : Promise.resolve(undefined),
      ]),
    ),
    readNamed(reader, namespace, vm),
    known?.setup?.claimProperties ?? readClaimProperties(reader, isWithoutMode ? classes : []),
  ]);
  const volumes = found.filter((volume) => volume !== undefined);
  const isThere = ({ name }: NeededVolume): boolean => volumes.some(({ metadata }) => metadata.name === name);
  // Quotas count only for volumes that are still to be made.
  const quotas = needed.every(isThere) ? [] : (await reader.list(RESOURCE_QUOTAS, { namespace })).items;
  return { volumes, ...named, quotas, claimProperties };
}

/** Reads the modes that each of these storage classes offers. */
async function readClaimProperties(
  reader: Reader,
  classes: readonly string[],
): Promise<TargetSetup['claimProperties']> {
  const profiles = await Promise.all(
    classes.map((name) => getIfServed(reader.get(STORAGE_PROFILES, { name }))),
  );
  return new Map(
    profiles.flatMap((profile): [string, readonly ClaimProperties[]][] =>
      profile === undefined ? [] : [[profile.metadata.name, profile.status?.claimPropertySets ?? []]],
    ),
  );
}

/** Reads the objects that the VM names. The right to read Secrets and ConfigMaps is given in each namespace. */
async function readNamed(
  reader: Reader,
  namespace: string,
  vm: VirtualMachine | undefined,
): Promise<Pick<TargetSetup, 'resources' | 'isForbidden'>> {
  const named = vm === undefined ? [] : resourcesOf(vm);
  const secrets = named.filter((each) => !isNoSecret(each));
  const [types, copies] = await Promise.all([
    readResources(reader, namespace, named.filter(isNoSecret)),
    unlessForbidden(readResources(reader, namespace, secrets), undefined),
  ]);
  return copies === undefined
    ? { resources: types, isForbidden: true }
    : { resources: [...types, ...copies] };
}

/** Whether the run may have made something. Without a record that is unknown: a user may have removed it. */
const mayHaveMade = (record: RunRecord | undefined): boolean =>
  record === undefined || (record.end !== undefined && !isPastCutOver(record));

/** Returns the side with the excess of its namespace, where the guest has arrived, or the source VM is gone: else the VM does not stay there. */
export async function withOver(
  reader: Reader,
  { target, source, hub, run }: RunSnapshot,
): Promise<TargetSide> {
  const record = recordIn({ source, run });
  if (source.vm !== undefined && record?.arrivedAt === undefined) return target;
  const namespace = record?.target.namespace ?? hub.plan.spec.targetNamespace;
  return { ...target, over: overQuota((await reader.list(RESOURCE_QUOTAS, { namespace })).items) };
}

/**
 * Reads the objects that the run has made for this VM, and which of them no other VM uses. The Plan may be another one of its name than when
 * they were made.
 */
async function readMade(
  reader: Reader,
  { run, at: { namespace, name }, record, vm }: TargetRequest,
): Promise<MadeObjects> {
  const labelSelector = ofRun(run);
  const [dataVolumes, claims, ...copies] = await Promise.all([
    listIfServed<KubernetesObject>(reader.list(DATA_VOLUMES, { namespace, labelSelector })),
    reader.list(WHOLE_CLAIMS, { namespace, labelSelector }),
    ...COPIED.map((type) => {
      const copied = listIfServed(reader.list(type, { namespace, labelSelector: LIVE_LABEL.plan }));
      return mayHaveCopied(record, vm) ? copied : unlessForbidden(copied, []);
    }),
  ]);
  const made = copies.flat().filter((object) => isMadeBy(object, run));
  const used = made.length === 0 ? new Set() : await readUsed(reader, { namespace, name });
  const isUsed = (object: KubernetesObject): boolean => used.has(keyOfObject(object));
  return {
    volumes: [...dataVolumes, ...claims.items],
    unused: made.filter((object) => !isUsed(object)),
    used: made.filter(isUsed),
  };
}

/** Whether Secrets were surely readable in the namespace when they were copied, so that a refusal now does not mean that there are none. */
const mayHaveCopied = (record: RunRecord | undefined, vm: VirtualMachine | undefined): boolean =>
  (record?.attempt ?? 0) > 0 && (vm === undefined || !resourcesOf(vm).every(isNoSecret));

/** Keys of the objects that other VMs of the namespace refer to. */
async function readUsed(reader: Reader, { namespace, name }: VmAt): Promise<ReadonlySet<unknown>> {
  const { items } = await reader.list(VIRTUAL_MACHINES, { namespace });
  const others = items.filter(({ metadata }) => metadata.name !== name);
  return new Set(others.flatMap(resourcesOf).map((each) => keyOf(each.kind, each.name)));
}
