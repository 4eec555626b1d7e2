import { has } from '../../../functions/domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../../functions/domain/live/names.ts';
import { FULL_MIGRATIONS } from '../../cluster/kubevirt/objects/objects.ts';
import type { Crossing } from './crossing.ts';

/** Resolves while KubeVirt copies the memory of a VM: hold its transfer before. */
export async function untilCopied(crossing: Crossing): Promise<void> {
  const { admin, namespace } = crossing.side('source');
  await crossing.until('its memory is copied', async () =>
    (await admin.list(FULL_MIGRATIONS, { namespace })).items.some(
      ({ status }) => status?.phase === 'Running',
    ),
  );
}

/** Resolves when the Migration shows the cut-over of a VM: hold its completion before. */
export async function untilPastCutOver(crossing: Crossing): Promise<void> {
  await crossing.until('the guest was seen on the target', ({ status }) =>
    (status?.vms ?? []).some((vm) => has(vm, LIVE_CONDITION.cutOver)),
  );
}

/** Moves the VM web, and acts between its cut-over and its completion. */
export async function actPastCutOver(crossing: Crossing, act: () => Promise<void>): Promise<void> {
  await crossing.createVm('web');
  await crossing.createPlan([{ name: 'web' }]);
  const letGo = crossing.pair.transfers.hold('complete');
  try {
    await crossing.createMigrationAs();
    await untilPastCutOver(crossing);
    await act();
  } finally {
    letGo();
  }
}
