import { has } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION, LIVE_KUBEVIRT, LIVE_REASON, MARK } from '../../domain/live/names.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { receiverOf } from '../guest/proofs.ts';
import { HELD, LOST_VMI, strategyNamed, strategyOf, type RunRecord } from '../run/record.ts';
import type { RunSnapshot } from '../run/snapshot.ts';

/**
 * Returns the record again after a user removed it from the source VM during the run: with the state that the target still has, and with
 * the end of the run. Its VMI counts as another one, so nothing of it is deleted unless the guest runs on the target.
 */
export function rebuiltRecord(snapshot: RunSnapshot, vm: VirtualMachine): RunRecord {
  const { hub, source, target } = snapshot;
  const at = new Date(hub.now).toISOString();
  const { name, namespace = '', uid } = hub.migration.metadata;
  const restored = receiverOf(snapshot)?.metadata.annotations?.[LIVE_KUBEVIRT.restoreRunStrategy];
  const attempts = [...source.vmims, ...target.vmims].map(({ metadata }) =>
    Number(metadata.name.split('-').at(-1)),
  );
  return {
    v: 1,
    migration: { namespace, name, uid },
    hub: hub.cluster,
    vm: vm.metadata.uid,
    vmi: LOST_VMI,
    ...strategiesOf(vm, restored),
    target: {
      cluster: target.cluster,
      namespace: hub.plan.spec.targetNamespace,
      name: hub.entry.targetName || vm.metadata.name,
    },
    startedAt: at,
    transferSeconds: 1,
    // The attempt is at least 1, also without VMIMs: the guest may have been under way.
    attempt: Math.max(1, ...attempts),
    hooks: [],
    marks: has(hub.status, LIVE_CONDITION.cutOver) ? [{ mark: MARK.notWaiting, at }] : [],
    // The status has a success with the VM proved off: an owner has started one that is on.
    ...(has(hub.status, LIVE_CONDITION.succeeded) && { halted: true as const }),
    end: {
      as: 'Failed',
      reason: LIVE_REASON.recordLost,
      message: 'the annotation of the run was removed from the VM on the source',
      at,
    },
  };
}

/** Returns the strategy that the VM had, or else the one that its copy on the target is to get, and whether the run holds it. */
function strategiesOf(
  vm: VirtualMachine,
  restored: string | undefined,
): Pick<RunRecord, 'runStrategy' | 'held'> {
  const own = strategyOf(vm);
  if (own === HELD.to && restored === HELD.from) return { runStrategy: HELD.from, held: true };
  return { runStrategy: own ?? strategyNamed(restored) ?? 'Always' };
}
