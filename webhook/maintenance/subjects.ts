import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { Migration } from '../../functions/domain/objects.ts';
import {
  isOpen,
  owesEvents,
  type MaintenanceProgress,
  type Subject,
} from '../../functions/domain/progress/progress-object.ts';

/** Maximum number of nodes to watch: any user may name one in a migration's annotation. */
const MAX_NODES = 500;

/** Facts that show that a node may be drained. */
export interface DrainSigns {
  readonly cordoned: readonly string[];
  /** Migrations that have not ended. */
  readonly migrations: readonly Migration[];
  readonly progresses: readonly MaintenanceProgress[];
}

/**
 * Nodes to watch: cordoned ones, those that evacuations name (a node with the drain taint cannot be selected by it), and those that an
 * object is still about.
 */
export function nodesToWatch({ cordoned, migrations, progresses }: DrainSigns): string[] {
  const evacuated = migrations.flatMap(({ metadata }) => metadata.annotations?.[KUBEVIRT.evacuation] ?? []);
  const reported = progresses
    .filter(isUnfinished)
    .flatMap(({ spec }) => (spec.node === undefined ? [] : [spec.node.name]));
  const named = [...reported, ...cordoned, ...evacuated].filter((name) => name !== '');
  return [...new Set(named)].slice(0, MAX_NODES);
}

/** Whether the object still needs its node: a canceled drain does, until its last migration ends. */
const isUnfinished = (progress: MaintenanceProgress): boolean =>
  isOpen(progress) || owesEvents(progress) || (progress.status?.buckets ?? []).length > 0;

/** The objects about a subject. */
export const progressesOf = (
  { kind, node }: Subject,
  all: readonly MaintenanceProgress[],
): MaintenanceProgress[] => all.filter(({ spec }) => spec.kind === kind && spec.node?.name === node);

/** The oldest open one, so that of two each ends in its turn; else the newest. */
export function currentOf(progresses: readonly MaintenanceProgress[]): MaintenanceProgress | undefined {
  const sorted = progresses.toSorted((one, other) => (ageOf(one) < ageOf(other) ? -1 : 1));
  return sorted.find(isOpen) ?? sorted.at(-1);
}

const ageOf = ({ metadata }: MaintenanceProgress): string =>
  `${metadata.creationTimestamp} ${String(numberOf(metadata.name)).padStart(10, '0')}`;

/** The number at the end of a name; 0: there is none. */
const numberOf = (name: string): number => Number(/-(\d+)$/.exec(name)?.[1] ?? 0);

/** The highest number of an object with this label; 0: there is none. */
export const highestOf = (label: string, all: readonly MaintenanceProgress[]): number =>
  Math.max(
    0,
    ...all
      .map(({ metadata: { name } }) => name)
      .filter((name) => name.startsWith(`${label}-`))
      .map(numberOf),
  );
