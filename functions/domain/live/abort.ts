import { isFinal } from '../migration.ts';
import { DONE, wait, write, type LiveWrite, type StepDecision } from './decision.ts';
import { LIMIT_MS, timeOf } from './deadlines.ts';
import type { Vmim } from './kubevirt.ts';
import { LIVE_REASON } from './names.ts';
import { hasTargetPod } from './proofs.ts';
import type { RecordedRun } from './run-snapshot.ts';

/** Phases of a source VMIM that has not met its target, which goes at once when it is deleted. */
const APART: readonly string[] = ['', 'Synchronizing'];
/** Phases in which it waits for the target's launcher, and never goes without one (facts/cross-cluster.md §C6). */
const WAITING: readonly string[] = ['Pending', 'Scheduling', 'Scheduled'];

/**
 * Takes back the VMIMs of every attempt; done when all are gone. Deleting one does not tell the other cluster. While the guest is
 * copied the source's goes first: without the target's alone the copy would go on. Before that the target's goes first: without it no
 * launcher comes, and the source's is then stuck until its finalizers are taken away, which is safe because nothing runs for it.
 */
export function abort(snapshot: RecordedRun): StepDecision {
  const { source, target } = snapshot;
  const all = [...source.vmims, ...target.vmims].map(({ metadata }) => metadata.name);
  const decisions = [...new Set(all)].map((name) => abortPair(name, snapshot));
  return decisions.find(({ kind }) => kind !== 'done') ?? DONE;
}

function abortPair(name: string, snapshot: RecordedRun): StepDecision {
  const [sent, received] = [snapshot.source, snapshot.target].map(({ vmims }) =>
    vmims.find(({ metadata }) => metadata.name === name),
  );
  if (sent === undefined) return removeBoth(sent, received);
  if (isForgotten(sent, snapshot)) return removeFinalizers(sent);
  const phase = sent.status?.phase ?? '';
  if (isFinal(sent) || APART.includes(phase)) return removeBoth(sent, received);
  return WAITING.includes(phase) ? abortWaiting({ sent, received }, snapshot) : remove('source', sent);
}

function abortWaiting(
  { sent, received }: { readonly sent: Vmim; readonly received: Vmim | undefined },
  snapshot: RecordedRun,
): StepDecision {
  if (received !== undefined) return remove('target', received);
  if (!isGoing(sent)) return remove('source', sent);
  return isStuck(sent, snapshot) ? removeFinalizers(sent) : waiting(sent);
}

function removeBoth(sent: Vmim | undefined, received: Vmim | undefined): StepDecision {
  const left = [
    ...(sent === undefined ? [] : [{ on: 'source' as const, vmim: sent }]),
    ...(received === undefined ? [] : [{ on: 'target' as const, vmim: received }]),
  ];
  const [first] = left;
  if (first === undefined) return DONE;
  const due = left.filter(({ vmim }) => !isGoing(vmim));
  const writes = due.map(({ on, vmim }): LiveWrite => ({ verb: 'delete', on, object: vmim }));
  return writes.length === 0 ? waiting(first.vmim) : write(`deleting ${names(due)}`, ...writes);
}

const names = (of: readonly { readonly vmim: Vmim }[]): string =>
  of.map(({ vmim }) => vmim.metadata.name).join(', ');

const remove = (on: 'source' | 'target', vmim: Vmim): StepDecision =>
  isGoing(vmim)
    ? waiting(vmim)
    : write(`deleting ${vmim.metadata.name} on the ${on}`, { verb: 'delete', on, object: vmim });

const isGoing = ({ metadata }: Vmim): boolean => metadata.deletionTimestamp !== undefined;

const waiting = ({ metadata }: Vmim): StepDecision =>
  wait(LIVE_REASON.aborting, `waiting until KubeVirt has removed the VMIM ${metadata.name}`);

/** Longer than KubeVirt needs for one that it can remove, and nothing on the target that it could wait for. */
const isStuck = ({ metadata }: Vmim, { source, target }: RecordedRun): boolean =>
  source.now - timeOf(metadata.deletionTimestamp) > LIMIT_MS.stuckVmim && !hasTargetPod(target);

/** KubeVirt looks no more at a VMIM that is being deleted when its VMI is gone; the next VMI of that name could not be migrated. */
const isForgotten = (sent: Vmim, snapshot: RecordedRun): boolean =>
  snapshot.source.vmi === undefined && isStuck(sent, snapshot);

const removeFinalizers = (sent: Vmim): StepDecision =>
  write(`taking the finalizers of ${sent.metadata.name} away, which KubeVirt never removes`, {
    verb: 'replace',
    on: 'source',
    object: withoutFinalizers(sent),
  });

export const withoutFinalizers = (vmim: Vmim): Vmim => ({
  ...vmim,
  metadata: { ...vmim.metadata, finalizers: [] },
});
