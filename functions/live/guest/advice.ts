import type { VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION, LIVE_KUBEVIRT } from '../../domain/live/names.ts';
import { HELD, isHeld, strategyNamed, type RunRecord } from '../run/record.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { isReceiver } from './cut-over.ts';
import { movedToText } from './moved-to.ts';
import { isOff, isTargetUp, receiverOf } from './proofs.ts';

/*
 * All advice to start, stop or delete a VM that moves. A user who obeys it must not lose the only copy, or start a second one: each is empty
 * unless the snapshot proves the state of the other VM. Nothing proves that the one on the target may go once its guest may have been there:
 * the VMI of the source may say Running without a guest. No other message of `live` has such advice (test/contract/static/live-advice.test.ts).
 */

/** How to start the VM on the target: it has the newest data, and the one on the source is off or gone. */
export function adviceToStartTarget(snapshot: RunSnapshot, hasArrived: boolean): string {
  const vm = receiverOf(snapshot);
  const { source, target } = snapshot;
  if (!hasArrived || vm === undefined || isTargetUp(snapshot)) return '';
  const mayRun = [source.vm, source.successor].some((one) => one !== undefined && !isOff(one));
  if (mayRun || source.vmi !== undefined) return '';
  return `: ${howToStart(vm, target.vmi)}`;
}

/** How a VM that is down starts. virt-api refuses a start of one that KubeVirt starts by itself, and of a receiver (StartVMRequestHandler). */
function howToStart(vm: VirtualMachine, vmi: Vmi | undefined): string {
  const { name, namespace = '', deletionTimestamp } = vm.metadata;
  if (deletionTimestamp !== undefined) return 'it is being deleted there, and its disks go with it';
  if (isOff(vm) || takesStart(vm, vmi)) return `start it there (virtctl start ${name} -n ${namespace})`;
  return isReceiver(vm) ? howToStartReceiver(vm, vmi) : startedByKubeVirt(vm, vmi);
}

function startedByKubeVirt(vm: VirtualMachine, vmi: Vmi | undefined): string {
  const { name, namespace = '' } = vm.metadata;
  if (vmi === undefined)
    return `KubeVirt there starts it by itself: see the Events of the VM ${namespace}/${name}`;
  return vm.spec.runStrategy === 'Once' && isEnded(vmi)
    ? `delete its VMI there (kubectl delete vmi ${name} -n ${namespace}), and KubeVirt starts it once more`
    : seeEvents(vm);
}

const seeEvents = ({ metadata: { name, namespace = '' } }: VirtualMachine): string =>
  `see the Events of its VMI ${namespace}/${name}`;

/**
 * How to start a VM that waits for a guest again: KubeVirt had not given it its own strategy when its guest ended, and starts none that waits
 * (facts/cross-cluster.md §C1). A VMI that does not wait may have the guest, just after its arrival.
 */
function howToStartReceiver(vm: VirtualMachine, vmi: Vmi | undefined): string {
  if (vmi !== undefined && vmi.status?.phase !== 'WaitingForSync') return seeEvents(vm);
  const { name, namespace = '', annotations = {} } = vm.metadata;
  const wanted = strategyNamed(annotations[LIVE_KUBEVIRT.restoreRunStrategy]);
  const runStrategy = wanted === undefined || wanted === 'running' ? 'Always' : wanted;
  const needsStart = ['Manual', 'RerunOnFailure'].includes(runStrategy);
  const commands = [
    `kubectl patch vm ${name} -n ${namespace} --type=merge -p '{"spec":{"runStrategy":"${runStrategy}"}}'`,
    ...(vmi === undefined ? [] : [`kubectl delete vmi ${name} -n ${namespace}`]),
    ...(needsStart ? [`virtctl start ${name} -n ${namespace}`] : []),
  ];
  return `it waits for a guest again, and KubeVirt starts it only with a strategy of its own: ${commands.join('; ')}`;
}

/** Whether virt-api takes a start of the VM, which is not off. */
const takesStart = ({ spec: { runStrategy } }: VirtualMachine, vmi: Vmi | undefined): boolean =>
  (runStrategy === 'Manual' && (vmi === undefined || isEnded(vmi))) ||
  (runStrategy === 'RerunOnFailure' && (vmi === undefined || vmi.status?.phase === 'Succeeded'));

const isEnded = ({ status }: Vmi): boolean => ['Succeeded', 'Failed'].includes(status?.phase ?? '');

/** How to end the VM on the source: the guest has arrived on the target, and runs there. */
export const adviceToEndSource = (snapshot: RunSnapshot, hasArrived: boolean): string =>
  hasArrived && isTargetUp(snapshot)
    ? ': the VM runs on the target, so set the one on the source to Halted, also where a GitOps tool has it'
    : '';

/** How to start the VM on the source: the run has deleted all that it made on the target. */
export const ADVICE_AFTER_UNDO = 'the VM does not run on the source: start it there if it should run';

/** How to start a VM that KubeVirt keeps down after an attempt of which nothing is left on the target. */
export const ADVICE_IF_KEPT_DOWN = ' If it is down already: delete its VMI, and start it.';

/** How to end one of two copies, after a look at the plan's moved VMs that saw both run. */
export const ADVICE_WHERE_BOTH_RUN =
  'The one on the source was started from disks that are out of date: look at both, and stop the one that is not needed. Archive the ' +
  'plan if both should run.';

/**
 * How to remove a record whose run is over, by what it proves (`record` is undefined if it cannot be read). Who removes that of a VM which
 * has moved sets the annotation that it has moved in the same request: without either, the policy moved-vms would let the old copy start.
 */
export function adviceToRemoveRecord(vm: VirtualMachine, record: RunRecord | undefined): string {
  const free = annotate(vm, `${LIVE_ANNOTATION.run}-`);
  if (record === undefined) return `see that no guest of it is on another cluster, then on its own: ${free}`;
  const { target, arrivedAt } = record;
  const there = `${target.namespace}/${target.name} on cluster ${target.cluster}`;
  if (arrivedAt !== undefined) {
    const rest = isOff(vm) ? 'leave this one off' : 'compare both, because this one is not off';
    return `its guest has arrived as ${there}: ${rest}, then on its own cluster: ${annotateMoved(vm, record, arrivedAt)}`;
  }
  const stays = `${free}${isHeld(vm, record) ? `, and give it its runStrategy ${HELD.from} again` : ''}`;
  const [mark] = record.marks;
  // Before the first attempt KubeVirt cannot have moved the guest; later it may have done so after the record was written.
  if (mark === undefined && record.attempt === 0)
    return `see that the VM runs on the source alone, then there: ${stays}`;
  const moved = annotateMoved(vm, record, mark?.at ?? record.startedAt);
  return `its guest may be on the target: compare this VM and ${there} before. If it is there: ${moved}. If it is on this one alone: ${stays}`;
}

const annotateMoved = (vm: VirtualMachine, record: RunRecord, at: string): string =>
  annotate(
    vm,
    `${LIVE_ANNOTATION.run}-`,
    // A quote in a record, which users can write, must not end the argument.
    `'${LIVE_ANNOTATION.movedTo}=${movedToText(record, { at }).replaceAll("'", String.raw`\u0027`)}'`,
  );

const annotate = ({ metadata: { name, namespace = '' } }: VirtualMachine, ...changes: string[]): string =>
  `kubectl annotate vm ${name} -n ${namespace} ${changes.join(' ')}`;
