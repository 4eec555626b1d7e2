/** virt-controller's next action for a VM: its VMI, as the run strategy has it (facts/cross-cluster.md C1, C2, C6). Pure. */
import { isDecentralized } from '../decentralized/sides.ts';
import { isSame, mergeBetween } from './merge-between.ts';
import { ANNOTATIONS, OBSERVED_API_VERSIONS, VM_FINALIZER } from '../objects/names.ts';
import type { RunStrategy, StateChangeRequest, Vm, Vmi, VmStatus } from '../objects/types.ts';
import { hasArrived, statusOf, strategyOf } from './status.ts';

export interface VmView {
  readonly vm: Vm;
  /** The one that it made. */
  readonly vmi: Vmi | undefined;
  /** RFC 3339. */
  readonly now: string;
}

export type VmDecision =
  | { readonly do: 'wait' }
  | { readonly do: 'patch'; readonly merge: Record<string, unknown>; readonly subresource?: 'status' }
  /** The guest has left for another cluster: the VM must not start again from its old disk. */
  | { readonly do: 'halt' }
  | { readonly do: 'patch-vmi'; readonly merge: Record<string, unknown> }
  | { readonly do: 'create-vmi' }
  | { readonly do: 'delete-vmi' };

type Rule = (view: VmView) => VmDecision | undefined;

/** The first rule that applies decides. */
export function decideVm(view: VmView): VmDecision {
  const rules: readonly Rule[] = [
    observeVersion,
    whenDeleted,
    addFinalizer,
    whenGuestHasMoved,
    start,
    report,
    observeGeneration,
    stop,
    releaseVmi,
    forgetRequests,
  ];
  for (const rule of rules) {
    const decision = rule(view);
    if (decision !== undefined) return decision;
  }
  return { do: 'wait' };
}

function observeVersion({ vm }: VmView): VmDecision | undefined {
  if (vm.metadata.annotations?.[ANNOTATIONS.latestObserved] !== undefined) return undefined;
  return { do: 'patch', merge: { metadata: { annotations: OBSERVED_API_VERSIONS } } };
}

const isDeleted = ({ metadata }: Vm | Vmi): boolean => metadata.deletionTimestamp !== undefined;

const withoutFinalizer = ({ metadata }: Vm | Vmi): string[] =>
  metadata.finalizers?.filter((name) => name !== VM_FINALIZER) ?? [];

const hasFinalizer = ({ metadata }: Vm | Vmi): boolean =>
  metadata.finalizers?.includes(VM_FINALIZER) === true;

function whenDeleted(view: VmView): VmDecision | undefined {
  const { vm, vmi } = view;
  if (!isDeleted(vm)) return undefined;
  if (vmi !== undefined && !isDeleted(vmi)) return { do: 'delete-vmi' };
  if (vmi !== undefined) return report(view) ?? releaseVmi(view) ?? { do: 'wait' };
  if (!hasFinalizer(vm)) return { do: 'wait' };
  return { do: 'patch', merge: { metadata: { finalizers: withoutFinalizer(vm) } } };
}

function addFinalizer({ vm }: VmView): VmDecision | undefined {
  if (hasFinalizer(vm)) return undefined;
  const finalizers = [...(vm.metadata.finalizers ?? []), VM_FINALIZER];
  return { do: 'patch', merge: { metadata: { finalizers } } };
}

const isFinal = ({ status }: Vmi): boolean => ['Succeeded', 'Failed'].includes(status?.phase ?? '');

/** To this cluster: the strategy that it shall have here. To another: Halted; also after any failed attempt, at the next crash (C7.4). */
function whenGuestHasMoved({ vm, vmi }: VmView): VmDecision | undefined {
  if (vmi === undefined) return undefined;
  const strategy = strategyOf(vm);
  if (strategy === 'Always') return hasLeft(vm, vmi) ? { do: 'halt' } : undefined;
  const restored = vm.metadata.annotations?.[ANNOTATIONS.restoreRunStrategy];
  const isDue = strategy === 'WaitAsReceiver' && hasArrived(vmi) && restored !== undefined;
  return isDue ? { do: 'patch', merge: { spec: { runStrategy: restored } } } : undefined;
}

/** Also one that is to be restarted (vm.go, syncRunStrategy: "forceRestart || vmi.IsFinal()"). */
const hasLeft = (vm: Vm, vmi: Vmi): boolean =>
  (isFinal(vmi) || requestsOf(vm)[0]?.uid === vmi.metadata.uid) &&
  isDecentralized(vmi) &&
  vmi.status?.migrationState?.completed === true;

const requestsOf = ({ status }: Vm): StateChangeRequest[] => status?.stateChangeRequests ?? [];

const isAsked = (vm: Vm, action: StateChangeRequest['action']): boolean =>
  requestsOf(vm).some((request) => request.action === action);

/** Also a VM that is new (vm.go, syncRunStrategy: "when coming here from a different RunStrategy we have to start the VM"). */
const hadOtherStrategy = ({ status }: Vm): boolean => status?.runStrategy !== 'RerunOnFailure';

const STARTS: Readonly<Record<RunStrategy, (vm: Vm) => boolean>> = {
  Always: () => true,
  WaitAsReceiver: () => true,
  RerunOnFailure: (vm) => hadOtherStrategy(vm) || isAsked(vm, 'Start'),
  // Whenever its VMI is gone (vm.go, syncRunStrategy).
  Once: () => true,
  Manual: (vm) => isAsked(vm, 'Start'),
  Halted: () => false,
};

function start({ vm, vmi }: VmView): VmDecision | undefined {
  const strategy = strategyOf(vm);
  // A restart that was requested before (vm.go, syncRunStrategy, case RunStrategyHalted).
  if (vmi === undefined && strategy === 'Halted' && requestsOf(vm)[0]?.action === 'Start')
    return {
      do: 'patch',
      merge: { spec: vm.spec.runStrategy === undefined ? { running: true } : { runStrategy: 'Always' } },
    };
  const isDue = vmi === undefined && strategy !== undefined && STARTS[strategy](vm);
  return isDue ? { do: 'create-vmi' } : undefined;
}

function report({ vm, vmi, now }: VmView): VmDecision | undefined {
  const status = statusOf(vm, vmi, now);
  if (isSame(vm.status, status)) return undefined;
  return patchStatus(vm, status);
}

const patchStatus = (vm: Vm, status: VmStatus): VmDecision => ({
  do: 'patch',
  merge: {
    metadata: { resourceVersion: vm.metadata.resourceVersion },
    status: mergeBetween(vm.status, status),
  },
  subresource: 'status',
});

function observeGeneration({ vm, vmi }: VmView): VmDecision | undefined {
  const generation = String(vm.metadata.generation ?? 0);
  if (vmi === undefined || vmi.metadata.annotations?.[ANNOTATIONS.vmGeneration] === generation)
    return undefined;
  return {
    do: 'patch-vmi',
    merge: { metadata: { annotations: { [ANNOTATIONS.vmGeneration]: generation } } },
  };
}

const failsUnasked = (vm: Vm, { status }: Vmi): boolean =>
  status?.phase === 'Failed' && !isAsked(vm, 'Start');

/** Strategies under which a VMI that is over stays. */
const KEEPING: readonly RunStrategy[] = ['Manual', 'Once'];

function isStopDue(vm: Vm, vmi: Vmi, strategy: RunStrategy): boolean {
  if (strategy === 'Halted') return true;
  if (strategy === 'Always' && isUnfinished(vmi)) return false;
  return isAsked(vm, 'Stop') || (isFinal(vmi) && !KEEPING.includes(strategy));
}

function stop({ vm, vmi }: VmView): VmDecision | undefined {
  const strategy = strategyOf(vm);
  if (vmi === undefined || strategy === undefined || isDeleted(vmi)) return undefined;
  if (!isStopDue(vm, vmi, strategy)) return undefined;
  return strategy === 'RerunOnFailure' && failsUnasked(vm, vmi)
    ? patchStatus(vm, { ...vm.status, stateChangeRequests: [...requestsOf(vm), { action: 'Start' }] })
    : { do: 'delete-vmi' };
}

/**
 * KubeVirt does not know whether its guest is in another cluster, so it neither starts the VM again nor halts it (vm.go, syncRunStrategy,
 * RunStrategyAlways: "decentralized migration not completed, adding to queue"). Also where a migration ended before it began: nobody ends
 * its state then (recorded: cross-unreachable).
 */
const isUnfinished = (vmi: Vmi): boolean =>
  isDecentralized(vmi) && vmi.status?.migrationState?.completed !== true;

/** Once its pods are gone: until then the VMI tells how it ended. */
function releaseVmi({ vmi }: VmView): VmDecision | undefined {
  if (vmi === undefined || !isDeleted(vmi)) return undefined;
  if (!hasFinalizer(vmi) || (vmi.metadata.finalizers ?? []).length > 1) return undefined;
  return { do: 'patch-vmi', merge: { metadata: { finalizers: withoutFinalizer(vmi) } } };
}

/** The first one only: a stop is done when its VMI is gone, a start when there is one (vm.go, isTrimFirstChangeRequestNeeded). */
function forgetRequests({ vm, vmi }: VmView): VmDecision | undefined {
  const [first, ...rest] = requestsOf(vm);
  if (first === undefined) return undefined;
  const isOfVmi = vmi !== undefined && (first.uid ?? vmi.metadata.uid) === vmi.metadata.uid;
  const isDone = first.action === 'Stop' ? !isOfVmi : vmi !== undefined && !isDeleted(vmi);
  if (!isDone) return undefined;
  const { stateChangeRequests: _, ...status } = vm.status ?? {};
  return patchStatus(vm, { ...status, ...(rest.length > 0 && { stateChangeRequests: rest }) });
}
