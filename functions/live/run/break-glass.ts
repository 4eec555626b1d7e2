import type { PlanMigration } from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION } from '../../domain/live/names.ts';

/** Whether a user has given the run up. A Migration cannot be created like that: its uid is not known before. */
export const isGivenUp = ({ metadata }: Pick<PlanMigration, 'metadata'>): boolean =>
  metadata.annotations?.[LIVE_ANNOTATION.breakGlass] === metadata.uid;

/** Returns the command by which a user gives the run up. */
export const breakGlassCommand = ({ metadata }: Pick<PlanMigration, 'metadata'>): string =>
  [
    `kubectl annotate migrations.forklift.konveyor.io ${metadata.name} -n ${metadata.namespace ?? ''}`,
    `${LIVE_ANNOTATION.breakGlass}=${metadata.uid}`,
  ].join(' ');
