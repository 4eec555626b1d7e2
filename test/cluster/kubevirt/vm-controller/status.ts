/** What virt-controller says of a VM in its status (fields from test/recorded/cross-*). Pure. */
import type { Condition } from '../../../../functions/domain/objects.ts';
import { isReceiver } from '../decentralized/sides.ts';
import { ANNOTATIONS } from '../objects/names.ts';
import type { RunStrategy, Vm, Vmi, VmStatus } from '../objects/types.ts';

/** Undefined: `running` and `runStrategy` are both set, which KubeVirt takes for an error. */
export function strategyOf({ spec: { running, runStrategy } }: Vm): RunStrategy | undefined {
  if (running === undefined) return runStrategy ?? 'Halted';
  if (runStrategy !== undefined) return undefined;
  return running ? 'Always' : 'Halted';
}

/** `vmi`: the one that it made. */
export function statusOf(vm: Vm, vmi: Vmi | undefined, now: string): VmStatus {
  const { created: _, ready: __, ...before } = vm.status ?? {};
  const conditions = conditionsOf(vm, vmi, now);
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  return {
    ...before,
    conditions,
    printableStatus: printableStatusOf(vm, vmi),
    ...(isReady ? { ready: true } : {}),
    ...(vmi === undefined ? strategySeen(vm) : { created: true, ...generationsOf(vm, vmi) }),
  };
}

/** The strategy of a VM that was started once (vm.go, updateStatus). */
const strategySeen = (vm: Vm): Pick<VmStatus, 'runStrategy'> => {
  const runStrategy = vm.status?.runStrategy === undefined ? undefined : strategyOf(vm);
  return runStrategy === undefined ? {} : { runStrategy };
};

/** All conditions of the VMI, Ready in any case. Without a VMI the others stay. */
function conditionsOf(vm: Vm, vmi: Vmi | undefined, now: string): Condition[] {
  const known = vm.status?.conditions ?? [];
  const of = (vmi === undefined ? known : (vmi.status?.conditions ?? [])).filter(
    ({ type }) => type !== 'Ready',
  );
  const ready = vmi?.status?.conditions?.find(({ type }) => type === 'Ready');
  return [ready ?? notReady(vmi, known, now), ...of, ...restartRequired(vm, vmi, now)];
}

/** Once a volume of the VM is not in its running VMI (recorded: cross-source-edited). More memory is plugged in instead. */
function restartRequired({ spec, status }: Vm, vmi: Vmi | undefined, now: string): Condition[] {
  if (vmi === undefined) return [];
  const known = status?.conditions?.find(({ type }) => type === RESTART_REQUIRED);
  if (known !== undefined) return [known];
  const running = vmi.spec.volumes.map(({ name }) => name);
  if (spec.template.spec.volumes.every(({ name }) => running.includes(name))) return [];
  const message = 'a non-live-updatable field was changed in the template spec';
  const times = { lastProbeTime: null, lastTransitionTime: now };
  return [{ type: RESTART_REQUIRED, status: 'True', message, ...times }];
}

const RESTART_REQUIRED = 'RestartRequired';

function notReady(vmi: Vmi | undefined, known: readonly Condition[], now: string): Condition {
  const reason = vmi === undefined ? 'VMINotExists' : 'VMIConditionMissing';
  const message = vmi === undefined ? 'VMI does not exist' : 'VMI is missing the Ready condition';
  const before = known.find((one) => one.reason === reason);
  return (
    before ?? {
      type: 'Ready',
      status: 'False',
      reason,
      message,
      lastProbeTime: now,
      lastTransitionTime: now,
    }
  );
}

function generationsOf(vm: Vm, { metadata }: Vmi): VmStatus {
  const desired = vm.metadata.generation ?? 0;
  const observed = Number(metadata.annotations?.[ANNOTATIONS.vmGeneration] ?? 0);
  const runStrategy = observed === desired ? strategyOf(vm) : vm.status?.runStrategy;
  return {
    desiredGeneration: desired,
    observedGeneration: observed,
    ...(runStrategy === undefined ? {} : { runStrategy }),
  };
}

type Test = (vm: Vm, vmi: Vmi | undefined) => boolean;

const isOver = (vmi: Vmi | undefined): boolean => ['Succeeded', 'Failed'].includes(vmi?.status?.phase ?? '');

/** The first that applies. */
const PRINTABLE: readonly (readonly [string, Test])[] = [
  ['Terminating', ({ metadata }) => metadata.deletionTimestamp !== undefined],
  ['Stopping', (_, vmi) => vmi?.metadata.deletionTimestamp !== undefined && !isOver(vmi)],
  ['WaitingForReceiver', (_, vmi) => vmi?.status?.phase === 'WaitingForSync'],
  ['Migrating', (_, vmi) => isMigrating(vmi)],
  ['Running', (_, vmi) => vmi?.status?.phase === 'Running'],
  ['Starting', (vm, vmi) => (vmi === undefined ? isWanted(vm) : !isOver(vmi))],
];

const printableStatusOf = (vm: Vm, vmi: Vmi | undefined): string =>
  PRINTABLE.find(([, applies]) => applies(vm, vmi))?.[0] ?? 'Stopped';

function isMigrating(vmi: Vmi | undefined): boolean {
  const { startTimestamp, endTimestamp } = vmi?.status?.migrationState ?? {};
  return startTimestamp !== undefined && endTimestamp === undefined;
}

const isWanted = (vm: Vm): boolean => ['Always', 'WaitAsReceiver'].includes(strategyOf(vm) ?? '');

/** The guest has arrived from the other cluster, and the VMI is like any other. */
export const hasArrived = (vmi: Vmi): boolean =>
  vmi.status?.migrationState?.completed === true && !isReceiver(vmi);
