import type { LiveWrite, Side } from '../run/decision.ts';
import type { PlanMigration, PlanVm } from '../../domain/live/forklift.ts';
import type { VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import { recordText, withoutRecord } from '../run/record.ts';
import { hasNothingLeft, isClosed } from '../run/state.ts';
import { isSameVm } from '../run/stop.ts';
import type { ApiServer, Reader } from '../../kubernetes/cluster.ts';
import { PLAN_MIGRATIONS, VIRTUAL_MACHINES } from '../../kubernetes/live-resources.ts';
import { apply } from './apply.ts';
import { getOrUndefined } from '../read/get.ts';

/** Attempts after lost races: KubeVirt writes the status of the VM. */
const ATTEMPTS = 5;

interface Recorded {
  readonly migration: PlanMigration;
  readonly entry: PlanVm;
  /** The writes to a VM that had no record. */
  readonly writes: readonly LiveWrite[];
  readonly vmi: Vmi | undefined;
}

/**
 * Removes the first record of a run from its VM if the end was written to the status before it: nothing would go on with it. A call that
 * begins reads the Migration after it wrote the record. A call that ends a VM without a record reads the VM after it wrote that end. So one
 * of them sees both. Resolves with whether it was too late.
 */
export async function withdrawLateRecord(
  { migration, entry, writes, vmi }: Recorded,
  clusters: Readonly<Record<Side, ApiServer>>,
): Promise<boolean> {
  const vm = recordedVm(writes);
  if (vm === undefined || !(await hasEndedMeanwhile({ migration, entry }, clusters.hub))) return false;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const written = await getOrUndefined(clusters.source.get(VIRTUAL_MACHINES, addressOf(vm)));
    if (written === undefined || recordText(written) !== recordText(vm)) return true;
    const without = { verb: 'replace', on: 'source', object: withoutRecord(written, vmi) } as const;
    const applied = await apply([without], clusters);
    if (applied.kind !== 'changed') return true;
  }
  return true;
}

/**
 * Whether the status has the end of the VM, or the run is over, or the Migration is gone. Another Migration of its name may have replaced
 * it.
 */
async function hasEndedMeanwhile(
  { migration, entry }: Pick<Recorded, 'migration' | 'entry'>,
  hub: Reader,
): Promise<boolean> {
  const now = await getOrUndefined(hub.get(PLAN_MIGRATIONS, addressOf(migration)));
  if (now?.metadata.uid !== migration.metadata.uid || isClosed(now)) return true;
  return hasNothingLeft(now.status?.vms?.find((one) => isSameVm(one, entry)));
}

/** The source VM with its first record. */
const recordedVm = (writes: readonly LiveWrite[]): VirtualMachine | undefined =>
  writes.find(({ on, object }) => on === 'source' && object.kind === VIRTUAL_MACHINES.kind)?.object as
    VirtualMachine | undefined;

const addressOf = ({ metadata: { namespace = '', name } }: PlanMigration | VirtualMachine) => ({
  namespace,
  name,
});
