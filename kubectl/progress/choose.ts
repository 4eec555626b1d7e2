import { isOpen, type MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';

/**
 * The objects to follow: that of this name, or the open ones about a node or deployment of this name; without a name, all open ones.
 * Empty: there is none. A drain that has just begun has no object yet, and the one before it says nothing about it.
 */
export function chosen(progresses: readonly MaintenanceProgress[], name?: string): MaintenanceProgress[] {
  const named = progresses.filter(({ metadata }) => metadata.name === name);
  if (named.length > 0) return named;
  return progresses.filter(
    (progress) => isOpen(progress) && (name === undefined || progress.spec.subject === name),
  );
}

/** The ended objects about a node or deployment of this name, in their order of age. */
export const endedAbout = (progresses: readonly MaintenanceProgress[], subject: string): string[] =>
  progresses
    .filter(({ spec }) => spec.subject === subject)
    .toSorted((one, other) => ageOf(one) - ageOf(other))
    .map(({ metadata }) => metadata.name);

const ageOf = ({ metadata }: MaintenanceProgress): number => Date.parse(metadata.creationTimestamp);
