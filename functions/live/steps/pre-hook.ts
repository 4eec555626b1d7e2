import { DONE, type StepDecision } from '../run/decision.ts';
import { runHook } from './hook.ts';
import type { RecordedRun } from '../run/snapshot.ts';

/** Runs the PreHook before anything of the VM is made on the target. */
export const decide = (snapshot: RecordedRun): StepDecision =>
  snapshot.record.attempt > 0 ? DONE : runHook(snapshot, 'PreHook');
