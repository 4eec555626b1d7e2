import { has } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { recordOf } from '../run/record.ts';
import { hasNothingLeft } from '../run/state.ts';
import { VIRTUAL_MACHINES } from '../../kubernetes/live-resources.ts';
import type { Ended } from '../run/decision.ts';
import { shownEnd } from '../steps/ends.ts';
import { getOrUndefined } from '../read/get.ts';
import type { RunContext, RunVm } from './move-vm.ts';

/**
 * Returns the decision about a VM whose end is in the status with nothing left over; undefined if the VM is to be read whole. Its record is
 * removed after that status, so it may still be there: only the VM on the source is read, 1 request instead of 21. Never rejects.
 */
export async function skipEndedVm({ entry, shown }: RunVm, run: RunContext): Promise<Ended | undefined> {
  if (!hasNothingLeft(shown)) return undefined;
  const { id = '', namespace = '', name = '' } = entry;
  const { plan, migration, clusters } = run;
  try {
    const vm = await getOrUndefined(clusters.source.get(VIRTUAL_MACHINES, { namespace, name }));
    const runId = { plan: plan.metadata.uid, migration: migration.metadata.uid, vm: id };
    const isAsShown =
      vm?.metadata.uid === id ? recordOf(vm, runId).kind === 'none' : has(shown, LIVE_CONDITION.succeeded);
    return isAsShown ? shownEnd(shown) : undefined;
  } catch {
    // Reading the whole VM gives the reason.
    return undefined;
  }
}
