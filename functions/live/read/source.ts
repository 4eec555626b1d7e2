import type { Claim, VirtualMachine, Vmi, Vmim } from '../../domain/live/kubevirt.ts';
import { isNoSecret, resourcesOf } from '../on-target/resources.ts';
import type { RunId } from '../run/names.ts';
import { isPastCutOver, recordIn, type RunRecord } from '../run/record.ts';
import type { SourceSetup, SourceSide } from '../run/snapshot.ts';
import { neededVolumes } from '../on-target/volumes.ts';
import { isFinal } from '../../domain/migration.ts';
import { KUBEVIRT } from '../../domain/names.ts';
import type { Pod } from '../../domain/objects.ts';
import { LISTED_PODS } from '../../cluster/listed.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { VIRTUAL_MACHINES, VMIMS, WHOLE_CLAIMS, WHOLE_VMIS } from '../../kubernetes/live-resources.ts';
import { NAMESPACES } from '../../kubernetes/resources.ts';
import { getOrUndefined, unlessForbidden } from './get.ts';
import { readSourceResources } from './resources.ts';
import { readVmims, type VmAt } from './vmims.ts';

/** The part of the source that decides which other objects are read. */
export interface SourceCore extends Omit<SourceSide, 'setup' | 'pods' | 'attachments'> {
  readonly record: RunRecord | undefined;
}

/** Which cluster answers, and its time. */
export type Identity = Pick<SourceSide, 'now' | 'cluster'>;

export async function readIdentity(reader: Reader): Promise<Identity> {
  const { object, date } = await reader.get(NAMESPACES, { name: 'kube-system' });
  return { now: date.getTime(), cluster: object.metadata.uid };
}

/** KubeVirt's label of a VMIM with the name of its VMI. */
const OF_VMI = 'kubevirt.io/vmi-name';

export interface SourceRequest {
  readonly at: VmAt;
  readonly run: RunId;
  /** The id of the cluster that has the VM of the run. */
  readonly id: string;
  readonly known: Identity | undefined;
}

/**
 * Reads the VM, its VMI and its VMIMs. The VM comes first, because its version is the precondition of writes to it: its VMI was as read
 * while the VM was as read. Another VM that has its name by now is its successor. The uid of the VM says which cluster it is, as the one of
 * kube-system would.
 */
export async function readSourceCore(
  reader: Reader,
  { at, run, id, known }: SourceRequest,
): Promise<SourceCore> {
  const reading = reader.get(VIRTUAL_MACHINES, at);
  const named = await getOrUndefined(reading);
  const vm = named?.metadata.uid === run.vm ? named : undefined;
  const record = recordIn({ source: { vm }, run });
  const [{ now, cluster }, vmi, ofVmi] = await Promise.all([
    known ?? (vm === undefined ? readIdentity(reader) : { now: (await reading).date.getTime(), cluster: id }),
    getOrUndefined(reader.get(WHOLE_VMIS, at)),
    record?.arrivedAt === undefined ? readVmimsOf(reader, at) : undefined,
  ]);
  const { vmims, taken } = await readVmims(reader, at, { run, record, listed: ofVmi });
  const own = new Set(vmims.map(({ metadata }) => metadata.uid));
  return {
    ...{ now, cluster },
    vm,
    successor: vm === undefined ? named : undefined,
    vmi: vm && vmi,
    ...{ vmims, taken },
    others: (ofVmi ?? []).filter((vmim) => !own.has(vmim.metadata.uid) && !isFinal(vmim)),
    record,
  };
}

/** Reads all VMIMs of the VMI. Until its guest has arrived, those of others say what KubeVirt does with the VM (proofs.ts). */
async function readVmimsOf(reader: Reader, { namespace, name }: VmAt): Promise<readonly Vmim[]> {
  return (await reader.list(VMIMS, { namespace, labelSelector: `${OF_VMI}=${name}` })).items;
}

/** Whether volumes and the like are still to be made: until the first VMIM. */
export const isSettingUp = (record: RunRecord | undefined): boolean =>
  record === undefined || (record.attempt === 0 && record.end === undefined && !isPastCutOver(record));

/** Whether the run goes on, and has made no VMIM yet: no launcher matters then. */
export const isBeforeLaunch = (record: RunRecord | undefined): boolean =>
  record !== undefined && isSettingUp(record);

/** Whether the guest may have left the source: no launcher there proves anything any more. */
const mayHaveLeft = (record: RunRecord | undefined): boolean => record !== undefined && isPastCutOver(record);

/** Whether the target's launcher may still be to come. */
export const isLauncherToCome = (record: RunRecord | undefined): boolean =>
  record !== undefined && record.attempt > 0 && record.end === undefined && !isPastCutOver(record);

export async function readSourceSide(
  reader: Reader,
  { record, ...core }: SourceCore,
  known: SourceSetup | undefined,
): Promise<SourceSide> {
  const { vm, vmi } = core;
  const launching = isLauncherToCome(record) ? vmi : undefined;
  const [pods, attachments, setup] = await Promise.all([
    vmi === undefined || isBeforeLaunch(record) || mayHaveLeft(record)
      ? []
      : readLaunchers(reader, vmi.metadata),
    launching !== undefined && hasHotplugged(launching) ? readAttachments(reader, launching.metadata) : [],
    vm !== undefined && isSettingUp(record) ? (known ?? readSetup(reader, vm)) : undefined,
  ]);
  return { ...core, pods, attachments, setup };
}

/** Whether volumes were plugged in while the VMI ran: a pod of its own attaches these. */
const hasHotplugged = ({ spec }: Vmi): boolean =>
  (spec.volumes ?? []).some(
    ({ dataVolume, persistentVolumeClaim }) => (dataVolume ?? persistentVolumeClaim)?.hotpluggable === true,
  );

/** Reads the pods for all VMs of the namespace: only the owner of a pod names its VM. */
async function readAttachments(
  reader: Reader,
  { namespace = '' }: { readonly namespace?: string },
): Promise<readonly Pod[]> {
  const labelSelector = `${KUBEVIRT.launcherLabel}=${KUBEVIRT.attachment}`;
  return (await reader.list(LISTED_PODS, { namespace, labelSelector })).items;
}

/** Reads the VMI's launchers. KubeVirt sets the label after it has copied the VMI's own. */
async function readLaunchers(
  reader: Reader,
  { namespace = '', uid }: { readonly namespace?: string; readonly uid: string },
): Promise<readonly Pod[]> {
  const labelSelector = `${KUBEVIRT.launcherLabel}=${KUBEVIRT.launcher},${KUBEVIRT.createdBy}=${uid}`;
  return (await reader.list(LISTED_PODS, { namespace, labelSelector })).items;
}

/** Reads the objects that the VM uses. A refusal does not hide the rest: the run says what to do, and can be canceled. */
async function readSetup(reader: Reader, vm: VirtualMachine): Promise<SourceSetup> {
  const { namespace = '' } = vm.metadata;
  const names = [...new Set(neededVolumes(vm).map(({ name }) => name))];
  const named = resourcesOf(vm);
  const [claims, copies, types] = await Promise.all([
    Promise.all(names.map((name) => getOrUndefined(reader.get(WHOLE_CLAIMS, { namespace, name })))),
    ...[named.filter((each) => !isNoSecret(each)), named.filter(isNoSecret)].map((each) =>
      unlessForbidden(readSourceResources(reader, namespace, each), undefined),
    ),
  ]);
  return {
    claims: new Map(claims.flatMap((claim) => keyed(claim))),
    resources: [...(copies ?? []), ...(types ?? [])],
    forbidden: [
      ...(copies === undefined ? (['of namespace'] as const) : []),
      ...(types === undefined ? (['of cluster'] as const) : []),
    ],
  };
}

export const keyed = (claim: Claim | undefined): [string, Claim][] =>
  claim === undefined ? [] : [[claim.metadata.name, claim]];
