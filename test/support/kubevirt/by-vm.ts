import type { KubernetesEvent } from '../../../functions/domain/objects.ts';
import type { LauncherPod, Vmi, Vmim } from '../../cluster/kubevirt/objects/types.ts';
import { LEFT_OUT_OF_MAINTENANCE } from './differences.ts';
import type { Version } from './history.ts';
import { normalise, type Normalised } from './normalise.ts';

/** One VM of a history of several: its own versions, as if it were vm0 of one tenant; by namespace/name. */
export function byVm(history: readonly Version[]): Map<string, Version[]> {
  const inOrder = history.toSorted((one, other) => Number(orderOf(one) - orderOf(other)));
  const names = new Map<string, Version[]>();
  for (const version of inOrder) {
    const vm = vmOf(version, inOrder);
    if (vm === undefined) continue;
    const key = `${version.object.metadata.namespace ?? ''}/${vm}`;
    names.set(key, [...(names.get(key) ?? []), renamed(version, vm)]);
  }
  return names;
}

const orderOf = ({ object }: Version): bigint => BigInt(object.metadata.resourceVersion);

function vmOf({ kind, object }: Version, history: readonly Version[]): string | undefined {
  if (kind === 'VirtualMachineInstance') return object.metadata.name;
  if (kind === 'VirtualMachineInstanceMigration') return (object as Vmim).spec.vmiName;
  if (kind === 'Pod') return object.metadata.labels?.['vm.kubevirt.io/name'];
  if (kind !== 'Event') return undefined;
  const { involvedObject } = object as KubernetesEvent;
  if (involvedObject.kind === 'VirtualMachineInstance') return involvedObject.name;
  const about = history.find((one) => one.object.metadata.uid === involvedObject.uid);
  return about === undefined ? undefined : vmOf(about, history);
}

function renamed({ kind, watch, object }: Version, vm: string): Version {
  const text = JSON.stringify(object)
    .replaceAll(new RegExp(`(?<=["\\-])${vm}(?=["\\-.])`, 'g'), 'vm0')
    .replaceAll(object.metadata.namespace ?? '', 'tenant');
  return { kind, watch, object: JSON.parse(text) as Version['object'] };
}

/** Comparable, without what differs because of the recorder; versions that are equal then are one. */
export function normaliseMaintenance(history: readonly Version[]): Normalised[] {
  const last = new Map<string, string>();
  return normalise(history.filter((version) => !isOfEarlierMigration(version, history)))
    .map((version) => ({ ...version, fields: withoutLeftOut(version) }))
    .filter(({ kind, name, watch, fields }) => {
      const text = `${watch === 'DELETED' ? watch : ''}${JSON.stringify(fields)}`;
      const isNew = last.get(`${kind} ${name}`) !== text;
      last.set(`${kind} ${name}`, text);
      return isNew;
    });
}

/** A version of the VM that still shows a migration before this history: the recorder's virt-controller wrote none of these. */
function isOfEarlierMigration({ kind, object }: Version, history: readonly Version[]): boolean {
  const uid = (object as Vmi).status?.migrationState?.migrationUid;
  return (
    kind === 'VirtualMachineInstance' &&
    uid !== undefined &&
    !history.some((version) => version.object.metadata.uid === uid)
  );
}

const withoutLeftOut = ({ kind, fields }: Normalised): Normalised['fields'] =>
  Object.fromEntries(
    Object.entries(fields).filter(
      ([path]) =>
        !LEFT_OUT_OF_MAINTENANCE.some((one) => one.kind === kind && `${path}.`.startsWith(`${one.path}.`)),
    ),
  );

/** The transitions of a VM's objects that have one order in every run. */
export function milestonesOf(history: readonly Version[]): string[] {
  const milestones = history.map((version) => milestoneOf(version)).filter((one) => one !== undefined);
  return milestones.filter((one, index) => milestones.indexOf(one) === index);
}

function milestoneOf({ kind, watch, object }: Version): string | undefined {
  if (kind === 'VirtualMachineInstanceMigration') return migrationMilestone(object as Vmim);
  if (kind === 'VirtualMachineInstance') return vmiMilestone(object as Vmi);
  if (kind !== 'Pod') return undefined;
  const pod = object as LauncherPod;
  if (watch === 'ADDED') return 'the target pod exists';
  return pod.metadata.labels?.['kubevirt.io/outdatedLauncherImage'] === undefined
    ? undefined
    : 'a launcher is marked as outdated';
}

function migrationMilestone({ metadata, status: { phase = '', conditions } = {} }: Vmim): string {
  if (phase === 'Succeeded' && metadata.finalizers === undefined) return 'the migration is free';
  const isRefused = phase === 'Pending' && conditions !== undefined;
  return `the migration is ${isRefused ? 'refused' : phase === '' ? 'created' : phase}`;
}

function vmiMilestone({
  status: { migrationState, evacuationNodeName, nodeName } = {},
}: Vmi): string | undefined {
  if (migrationState === undefined) return evacuationNodeName === nodeName ? 'the VM is marked' : undefined;
  return migrationState.completed === true ? undefined : 'the VM is handed over';
}
