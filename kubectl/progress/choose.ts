import { isOpen, type MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';

/**
 * The objects to follow: that of this name, or the newest one about a node or deployment of this name; without a name, all that
 * are open. Empty: there is none.
 */
export function chosen(progresses: readonly MaintenanceProgress[], name?: string): MaintenanceProgress[] {
  if (name === undefined) return progresses.filter(isOpen);
  const found =
    progresses.find(({ metadata }) => metadata.name === name) ??
    progresses
      .filter(({ spec }) => spec.subject === name)
      .toSorted(byAge)
      .at(-1);
  return found === undefined ? [] : [found];
}

/** The oldest first. Numbers at the end of names have no fixed width, and times are whole seconds. */
function byAge(one: MaintenanceProgress, other: MaintenanceProgress): number {
  const age = ({ metadata }: MaintenanceProgress): number => Date.parse(metadata.creationTimestamp);
  return age(one) - age(other) || numberOf(one) - numberOf(other);
}

const numberOf = ({ metadata }: MaintenanceProgress): number => Number(/\d+$/.exec(metadata.name)?.[0] ?? 0);

/** How the followed ones ended together; undefined: one is still open. */
export function endOf(progresses: readonly MaintenanceProgress[]): 'completed' | 'failed' | undefined {
  if (progresses.some(isOpen)) return undefined;
  return progresses.every(({ status }) => status?.state === 'Completed') ? 'completed' : 'failed';
}
