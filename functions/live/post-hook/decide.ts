import type { StepDecision } from '../../domain/live/decision.ts';
import { runHook } from '../../domain/live/hook-step.ts';
import type { RecordedRun } from '../../domain/live/run-snapshot.ts';

/** When the source VM is off. If it fails, the run has failed, and the VM stays where it runs. */
export const decide = (snapshot: RecordedRun): StepDecision => runHook(snapshot, 'PostHook');
