import { LIVE_ANNOTATION } from '../../domain/live/names.ts';
import { named } from '../../domain/live/reference.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import type { RunRecord } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { runsOnTarget } from './cut-over.ts';
import { receiverOf } from './proofs.ts';

/**
 * Returns the source VM with the annotation that it has moved; unchanged if its guest is not on the target. The run writes it in one PUT
 * with the removal of its record, so that the VM has one of the two from the beginning of the run on. A policy refuses to start a VM with
 * the annotation (config/components/live-migration/member): its disks are out of date, and KubeVirt would run a second copy for good.
 */
export function withMovedTo(run: RecordedRun): VirtualMachine {
  const { source, target, record, hub } = run;
  const { vm } = source;
  const isThere = record.arrivedAt !== undefined || (receiverOf(run) !== undefined && runsOnTarget(target));
  if (!isThere) return vm;
  const { namespace: own = '' } = hub.plan.metadata;
  const provider = { namespace: own, ...named(hub.plan.spec.provider.destination) };
  const text = movedToText(record, {
    provider: `${provider.namespace}/${provider.name}`,
    at: record.arrivedAt ?? new Date(hub.now).toISOString(),
  });
  const annotations = { ...vm.metadata.annotations, [LIVE_ANNOTATION.movedTo]: text };
  return { ...vm, metadata: { ...vm.metadata, annotations } };
}

/** Returns the annotation's value. Where only the record is known, the Provider is not. */
export const movedToText = (
  { target: { cluster, namespace, name } }: RunRecord,
  { provider, at }: { readonly provider?: string; readonly at: string },
): string => JSON.stringify({ vm: `${namespace}/${name}`, provider, cluster, at });

/** Returns where the VM has moved, as its annotation says; undefined if it has none. */
export const movedToOf = ({ metadata }: VirtualMachine): string | undefined =>
  metadata.annotations?.[LIVE_ANNOTATION.movedTo];
