import { CLOCKS_APART_MS, isRunning } from '../../functions/domain/migration.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { KubeVirt, Migration, Node, VirtualMachineInstance } from '../../functions/domain/objects.ts';
import {
  drainTaintOf,
  drainingSince,
  hasDrainTaint,
  isDraining,
} from '../../functions/domain/policy/purpose.ts';
import { bucketsOf } from '../../functions/progress/buckets.ts';
import { keyOf } from '../../functions/progress/counts.ts';
import { endOfMove, isForUpgrade, isMoveOf, isRecentMove } from '../../functions/progress/moves.ts';
import type { Maintenance } from '../../functions/domain/progress/maintenance.ts';
import { refusalKey, type RefusedMigration } from '../../functions/domain/progress/refused-migration.ts';
import {
  endOf,
  hasMoved,
  isOpen,
  owesEvents,
  type MaintenanceProgress,
  type Subject,
} from '../../functions/domain/progress/progress-object.ts';
import { expiredAmong } from './retention.ts';
import {
  evictionIntervalOf,
  isProtected,
  type Before,
  type MaintenanceRules,
  type VmLeft,
  methodsOf,
} from '../../functions/progress/vm-state.ts';
import { limitsOf } from '../../functions/domain/view/view-of.ts';
import { currentOf, highestOf, progressesOf } from './subjects.ts';

/** Everything that the guard's watches know, as plain values. */
export interface MaintenanceFacts {
  readonly kubevirt: KubeVirt | undefined;
  /** The node of a drain; undefined: there is none. */
  readonly node: Node | undefined;
  /** VMIs on that node, or outdated VMIs. */
  readonly vmis: readonly VirtualMachineInstance[];
  /** VMIs with the label of a migration to that node, which may have ended; undefined: they have not been listed. */
  readonly arriving: readonly VirtualMachineInstance[] | undefined;
  /** Migrations that have not ended, by `vmOf`. */
  readonly migrations: ReadonlyMap<string, Migration>;
  /** Migrations that have moved a VM for any drain or upgrade (isRecentMove); left out: none. */
  readonly moves?: readonly Migration[];
  readonly progresses: readonly MaintenanceProgress[];
  /** Whether no migration slot is left in the cluster. */
  readonly isFull: boolean;
  /** Returns further facts about a migration. */
  readonly more: (migration: Migration) => Pick<VmLeft, 'isQueued' | 'isLocked' | 'verdict'>;
  /** Migrations that KubeVirt could not create, by refusalKey of the VMI; left out: none is known. */
  readonly refused?: ReadonlyMap<string, RefusedMigration>;
  readonly isSettled: boolean;
  /** Label and name prefix of the subject's objects. */
  readonly label: string;
  /** The time, in milliseconds. */
  readonly now: number;
  /** What shows the incumbent; undefined: nothing. */
  readonly incumbent?: string | undefined;
}

const FINAL = ['Succeeded', 'Failed'];

/** Returns one drain or the upgrade as the guard's answer; pure. */
export function observe(subject: Subject, facts: MaintenanceFacts): Maintenance {
  const { kubevirt, progresses, isSettled, label, now, incumbent } = facts;
  const left = subject.kind === 'Drain' ? leftOnNode(subject.node, facts) : outdated(facts);
  const own = progressesOf(subject, progresses);
  const current = currentOf(own);
  return {
    kind: subject.kind,
    label,
    highest: highestOf(label, progresses),
    ...(subject.kind === 'Drain'
      ? {
          node: nodeOf(subject.node, facts),
          others: aliveOn(subject.node, facts).length - left.length,
          ...arrivingOf(facts),
        }
      : kubevirtOf(kubevirt)),
    left: left.map(({ namespace, name }) => keyOf(namespace, name)),
    moved: movedOf(subject, facts, own),
    ...bucketsOf(left, {
      kind: subject.kind,
      now,
      ...rulesOf(kubevirt),
      isByTaint: isByTaint(facts),
      before: beforeOf(current, left.length, now),
    }),
    isMarked: subject.kind === 'Drain' && isWanted(subject.node, left, facts),
    isSettled,
    ...(incumbent === undefined ? {} : { incumbent }),
    ...(current === undefined ? {} : { current }),
    owing: own.filter((each) => each !== current && owesEvents(each)),
    expired: expiredAmong(progresses, now).map(({ metadata: { name, uid, resourceVersion } }) => ({
      ...{ name, uid, resourceVersion },
    })),
  };
}

/** The VMs that were moved for the subject since it began, without those that the object before this one counted. */
function movedOf(
  subject: Subject,
  { node, kubevirt, moves = [], now }: MaintenanceFacts,
  own: readonly MaintenanceProgress[],
): string[] {
  const last = currentOf(own.filter((each) => !isOpen(each)));
  const begin = node === undefined ? -Infinity : drainingSince(node, drainTaintOf(kubevirt));
  const isSince = (move: Migration): boolean =>
    endOfMove(move) >= begin && (last === undefined || isAfter(move, last));
  return moves
    .filter((move) => isRecentMove(move, now) && isMoveOf(move, subject) && isSince(move))
    .map(({ metadata, spec }) => keyOf(metadata.namespace ?? '', spec.vmiName ?? ''));
}

/**
 * Whether the migration ended after the object. No migration from before the object counts, so that it opens no other one however far
 * the clocks are apart.
 */
const isAfter = (move: Migration, last: MaintenanceProgress): boolean =>
  Date.parse(move.metadata.creationTimestamp) >= Date.parse(last.metadata.creationTimestamp) &&
  endOfMove(move) >= endOf(last) + CLOCKS_APART_MS;

/** The previous state. `left`: number of VMs that are left now. */
function beforeOf(current: MaintenanceProgress | undefined, left: number, now: number): Before | undefined {
  if (current?.status === undefined || !isOpen(current)) return undefined;
  const { startedAt, movedAt, deployedAt, buckets } = current.status;
  return {
    startedAt,
    movedAt: hasMoved(current.status, left) ? now : timeOf(movedAt),
    deployedAt: timeOf(deployedAt),
    entries: new Map(
      buckets.flatMap(({ vms }) => vms.map((vm) => [vmOf(vm.namespace, vm.name), vm] as const)),
    ),
  };
}

const timeOf = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time);

type RulesOfKubeVirt = Pick<MaintenanceRules, 'methods' | 'evictionIntervalMs' | 'evictionStrategy'>;

const rulesOf = (kubevirt: KubeVirt | undefined): RulesOfKubeVirt => ({
  methods: methodsOf(kubevirt),
  evictionIntervalMs: evictionIntervalOf(kubevirt),
  evictionStrategy: kubevirt?.spec?.configuration?.evictionStrategy,
});

function nodeOf(name: string, { node, kubevirt }: MaintenanceFacts): NonNullable<Maintenance['node']> {
  if (node === undefined) return { name, isDraining: false };
  return { name, uid: node.metadata.uid, isDraining: isDraining(node, drainTaintOf(kubevirt)) };
}

function kubevirtOf(kubevirt: KubeVirt | undefined): Pick<Maintenance, 'kubevirt'> {
  if (kubevirt === undefined || kubevirt.metadata.deletionTimestamp !== undefined) return {};
  const { name, uid, namespace = '' } = kubevirt.metadata;
  const { observedDeploymentID: observed, targetDeploymentID: target } = kubevirt.status ?? {};
  return {
    kubevirt: {
      ...{ name, uid, namespace },
      ...(observed === undefined ? {} : { observed }),
      ...(target === undefined ? {} : { target }),
    },
  };
}

const aliveOn = (node: string, { vmis }: MaintenanceFacts): VirtualMachineInstance[] =>
  vmis.filter((vmi) => isAlive(vmi) && vmi.status?.nodeName === node);

function leftOnNode(node: string, facts: MaintenanceFacts): VmLeft[] {
  const alive = aliveOn(node, facts);
  const migrating = alive.filter((vmi) => isMigrating(vmi, facts)).length;
  const isFull = facts.isFull || migrating >= limitsOf(facts.kubevirt).node;
  return protectedAmong(alive, facts).map((vmi) => leftOf(vmi, { ...facts, isFull }));
}

function arrivingOf(facts: MaintenanceFacts): Pick<Maintenance, 'arriving'> {
  if (facts.arriving === undefined) return {};
  return { arriving: protectedAmong(facts.arriving, facts).filter((vmi) => isMigrating(vmi, facts)).length };
}

const protectedAmong = (
  vmis: readonly VirtualMachineInstance[],
  { kubevirt }: MaintenanceFacts,
): VirtualMachineInstance[] => vmis.filter((vmi) => isProtected(vmi, rulesOf(kubevirt).evictionStrategy));

function isMigrating({ metadata }: VirtualMachineInstance, { migrations }: MaintenanceFacts): boolean {
  const migration = migrations.get(vmOf(metadata.namespace ?? '', metadata.name));
  return migration !== undefined && isRunning(migration);
}

/**
 * Running VMIs with KubeVirt's label, also those that are being deleted: they run on until their guests have stopped. KubeVirt's own
 * count leaves these out, and it corrects the label of VMIs in other phases as little, so a user may have set it
 * (facts/kubevirt.md §3.1). The result also has the VMIs that an upgrade migrates now: the label may be missing
 * (test/recorded/README.md). Before KubeVirt 1.7 a migration has no priority, so only the label counts.
 */
export function outdated(facts: Pick<MaintenanceFacts, 'vmis' | KnownOfVm>): VmLeft[] {
  const up = facts.vmis.filter(isUp);
  const labelled = up.map((vmi) => leftOf(vmi, facts));
  const known = new Set(up.map(({ metadata: { namespace = '', name } }) => vmOf(namespace, name)));
  const migrated = [...facts.migrations]
    .filter(([vm, migration]) => !known.has(vm) && isForUpgrade(migration))
    .map(([, migration]) => ({
      ...{ namespace: migration.metadata.namespace ?? '', name: migration.spec.vmiName ?? '' },
      migration,
      ...facts.more(migration),
    }));
  return [...labelled, ...migrated];
}

const isUp = ({ status }: VirtualMachineInstance): boolean => status?.phase === 'Running';

const isAlive = ({ status }: VirtualMachineInstance): boolean => !FINAL.includes(status?.phase ?? '');

/** Facts that show whether a VM is moved. */
type KnownOfVm = 'migrations' | 'isFull' | 'more' | 'refused';

function leftOf(
  vmi: VirtualMachineInstance,
  { migrations, isFull, more, refused }: Pick<MaintenanceFacts, KnownOfVm>,
): VmLeft {
  const { namespace = '', name, uid } = vmi.metadata;
  const migration = migrations.get(vmOf(namespace, name));
  if (migration === undefined) {
    const refusal = refused?.get(refusalKey(namespace, uid));
    return { namespace, name, vmi, isQueued: isFull, isLocked: false, refused: refusal };
  }
  return { namespace, name, vmi, migration, ...more(migration) };
}

/**
 * Whether an admin wants the VMs to leave: one is marked, or the node has the drain taint. An eviction of a VM that cannot be migrated
 * leaves no mark (facts/kubevirt.md §3.3).
 */
const isWanted = (name: string, left: readonly VmLeft[], facts: MaintenanceFacts): boolean =>
  left.some((vm) => isMarked(vm, name)) || isByTaint(facts);

const isByTaint = ({ node, kubevirt }: MaintenanceFacts): boolean =>
  node !== undefined && hasDrainTaint(node, drainTaintOf(kubevirt));

/** Whether KubeVirt's eviction webhook marks the VM, or its evacuation controller moves it. */
const isMarked = ({ vmi, migration }: VmLeft, node: string): boolean =>
  vmi?.status?.evacuationNodeName === node || migration?.metadata.annotations?.[KUBEVIRT.evacuation] === node;

/** The key of a VM among migrations. */
export const vmOf = (namespace: string, name: string): string => `${namespace}/${name}`;
