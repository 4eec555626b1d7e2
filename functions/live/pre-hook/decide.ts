import { DONE, type StepDecision } from '../../domain/live/decision.ts';
import { runHook } from '../../domain/live/hook-step.ts';
import type { RecordedRun } from '../../domain/live/run-snapshot.ts';

/** Before anything of the VM is made on the target. */
export const decide = (snapshot: RecordedRun): StepDecision =>
  snapshot.record.attempt > 0 ? DONE : runHook(snapshot, 'PreHook');
