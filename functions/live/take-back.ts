import type { LiveWrite, Side } from '../domain/live/decision.ts';
import type { PlanMigration, PlanVm } from '../domain/live/forklift.ts';
import type { VirtualMachine } from '../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION } from '../domain/live/names.ts';
import { withoutRecord } from '../domain/live/run-record.ts';
import { hasNothingLeft } from '../domain/live/run-state.ts';
import { isSameVm } from '../domain/live/stop.ts';
import type { ApiServer } from '../kubernetes/cluster.ts';
import { PLAN_MIGRATIONS, VIRTUAL_MACHINES } from '../kubernetes/live-resources.ts';
import { apply } from './apply.ts';
import { found } from './found.ts';

interface Recorded {
  readonly migration: PlanMigration;
  readonly entry: PlanVm;
  /** What was written, where there was no record. */
  readonly writes: readonly LiveWrite[];
}

/**
 * Takes the first record of a run off its VM where the end was shown before it was written: nothing would go on with it. Who begins looks at
 * the Migration after its record, and who ends without a record looks at the VM after that end, so that one of them sees both
 * (docs/adr/0031). Resolves with whether it was too late.
 */
export async function takeBack(
  { migration, entry, writes }: Recorded,
  clusters: Readonly<Record<Side, ApiServer>>,
): Promise<boolean> {
  const vm = recordedIn(writes);
  if (vm === undefined) return false;
  const now = await found(clusters.hub.get(PLAN_MIGRATIONS, placeOf(migration)));
  const isOver = now === undefined || hasNothingLeft(now.status?.vms?.find((one) => isSameVm(one, entry)));
  if (!isOver) return false;
  const written = await found(clusters.source.get(VIRTUAL_MACHINES, placeOf(vm)));
  if (written !== undefined && textOf(written) === textOf(vm))
    await apply([{ verb: 'replace', on: 'source', object: withoutRecord(written) }], clusters);
  return true;
}

/** The source VM with its first record. */
const recordedIn = (writes: readonly LiveWrite[]): VirtualMachine | undefined =>
  writes.find(({ on, object }) => on === 'source' && object.kind === VIRTUAL_MACHINES.kind)?.object as
    VirtualMachine | undefined;

const placeOf = ({ metadata: { namespace = '', name } }: PlanMigration | VirtualMachine) => ({
  namespace,
  name,
});

const textOf = ({ metadata }: VirtualMachine): string | undefined =>
  metadata.annotations?.[LIVE_ANNOTATION.run];
