import { readPodRejections } from '../../cluster/snapshot.ts';
import type { Vmi, Vmim } from '../../domain/live/kubevirt.ts';
import { isPending, referenceOf } from '../../domain/migration.ts';
import { podRejectionsOf } from '../../domain/quota/pod-rejection.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { timeOf } from '../run/deadlines.ts';
import { unlessForbidden } from './get.ts';

export interface ReceivingVm {
  readonly vmi: Vmi | undefined;
  readonly received: Vmim | undefined;
  /** The API server's clock, milliseconds. */
  readonly now: number;
}

/** A launcher that nothing refuses is there after so many milliseconds. */
const LATE_MS = 10_000;

/**
 * Reads the API server's last refusal of the launcher, in its words: KubeVirt reports it only in Events (facts/cross-cluster.md §C5).
 * undefined: none is known, or the account may not read Events.
 */
export async function readRefusal(
  reader: Reader,
  { vmi, received, now }: ReceivingVm,
): Promise<string | undefined> {
  if (vmi === undefined || received === undefined || !isPending(received)) return undefined;
  if (now < timeOf(received.metadata.creationTimestamp) + LATE_MS) return undefined;
  const events = await unlessForbidden(readPodRejections(reader, vmi.metadata.namespace), []);
  const candidate = { migration: received, blocked: referenceOf(received) };
  return podRejectionsOf(candidate, vmi, { events, now })[0]?.text;
}
