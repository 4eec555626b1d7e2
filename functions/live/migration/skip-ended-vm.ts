import { has } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { recordOf } from '../run/record.ts';
import { hasNothingLeft } from '../run/state.ts';
import { VIRTUAL_MACHINES } from '../../kubernetes/live-resources.ts';
import { shownEnd, type Ended } from '../steps/decide.ts';
import { getOrUndefined } from '../read/get.ts';
import type { RunContext, RunVm } from './move-vm.ts';

/**
 * The decision about a VM whose end is shown with nothing left over; undefined: it is to be read whole. Its record is taken off
 * after that is shown, so it may be there still: the VM on the source alone is read, 1 request where the whole is 21. Never rejects.
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
    // The whole reading says why.
    return undefined;
  }
}
