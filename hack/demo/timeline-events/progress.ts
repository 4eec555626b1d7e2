import type { MaintenanceProgress } from '../../../functions/domain/progress/progress-object.ts';
import type { EventDetails, Versions } from './timeline-event.ts';

/** Reports the progress of a drain or an upgrade, as `kubectl get mprog -w` shows it. */
export function ofProgress({ before, after }: Versions<MaintenanceProgress>): EventDetails[] {
  const text = textOf(after);
  return text === undefined || text === textOf(before) ? [] : [{ what: 'reported', text, by: 'progress' }];
}

/** The text of the object; undefined: it is gone, or its status is not written yet. */
function textOf(progress: MaintenanceProgress | undefined): string | undefined {
  if (progress?.status === undefined) return undefined;
  const { state, progress: done, message } = progress.status;
  return `writes mprog ${progress.metadata.name}: ${state} ${done}, ${message}`;
}
