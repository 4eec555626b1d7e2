import type { StepDecision } from '../run/decision.ts';
import { runHook } from './hook.ts';
import type { RecordedRun } from '../run/snapshot.ts';

/** Runs the PostHook when the source VM is off. If it fails, the run has failed, and the VM stays where it runs. */
export const decide = (snapshot: RecordedRun): StepDecision => runHook(snapshot, 'PostHook');
