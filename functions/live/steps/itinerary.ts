import type { StepDecision } from '../run/decision.ts';
import type { RecordedRun, RunSnapshot } from '../run/snapshot.ts';
import { decide as completed } from './completed.ts';
import { decide as createEmptyDataVolumes } from './create-empty-data-volumes.ts';
import { decide as createSourceMigration } from './create-source-migration.ts';
import { decide as createStandbyVm } from './create-standby-vm.ts';
import { decide as createTargetMigration } from './create-target-migration.ts';
import { decide as ensureResources } from './ensure-resources.ts';
import { decide as localMigration } from './local-migration.ts';
import { decide as postHook } from './post-hook.ts';
import { decide as preHook } from './pre-hook.ts';
import { decide as started } from './started.ts';
import { decide as targetRuns } from './target-runs.ts';
import { decide as validate } from './validate.ts';
import { decide as waitForStateTransfer } from './wait-for-state-transfer.ts';
import { decide as waitForTargetMigration } from './wait-for-target-migration.ts';

/** The stages that Forklift's UI draws (facts/cross-cluster.md §A1). */
export type Stage = 'Initialize' | 'PreHook' | 'PrepareTarget' | 'Synchronization' | 'PostHook';

interface Named {
  /** The name of the step, as in Plan.status.migration.vms[].phase. */
  readonly name: string;
  readonly stage: Stage;
}

/** A step before the VM has a record. */
export interface FirstStep extends Named {
  readonly decide: (snapshot: RunSnapshot) => StepDecision;
}

export interface RunStep extends Named {
  readonly decide: (snapshot: RecordedRun) => StepDecision;
}

/** Records the run on the VM. */
export const BEGINNING: FirstStep = { name: 'Started', stage: 'Initialize', decide: started };

export const FIRST_STEPS: readonly FirstStep[] = [
  { name: 'Validate', stage: 'Initialize', decide: validate },
  BEGINNING,
];

/** Copies Secrets and the like to the target. */
export const COPYING: RunStep = { name: 'EnsureResources', stage: 'PrepareTarget', decide: ensureResources };

/** The steps up to the cut-over. Every step sees by the objects whether it is done, so each reconcile begins at the first. */
export const STEPS_THERE: readonly RunStep[] = [
  { name: 'PreHook', stage: 'PreHook', decide: preHook },
  { name: 'CreateEmptyDataVolumes', stage: 'PrepareTarget', decide: createEmptyDataVolumes },
  COPYING,
  { name: 'CreateStandbyVM', stage: 'PrepareTarget', decide: createStandbyVm },
  { name: 'CreateTargetMigration', stage: 'Synchronization', decide: createTargetMigration },
  { name: 'WaitForTargetMigration', stage: 'Synchronization', decide: waitForTargetMigration },
  { name: 'CreateSourceMigration', stage: 'Synchronization', decide: createSourceMigration },
];

/** The transfer. Before its cut-over a VM waits in this step; past it, no step above is looked at any more. */
export const TRANSFER: RunStep = {
  name: 'WaitForStateTransfer',
  stage: 'Synchronization',
  decide: waitForStateTransfer,
};

export const POST_HOOK: RunStep = { name: 'PostHook', stage: 'PostHook', decide: postHook };

/** The end: the VMIMs of the move go, then the VM migrates within the target where that is wanted. */
export const COMPLETED: RunStep = {
  name: 'Completed',
  stage: 'PostHook',
  decide: (run) => {
    const decision = completed(run);
    return decision.kind === 'done' ? localMigration(run) : decision;
  },
};

/** The proof that a success needs. It is no step of its own in the itinerary. */
export const TARGET_RUNS: RunStep = { ...COMPLETED, decide: targetRuns };

/** The whole itinerary in its order. */
export const ITINERARY: readonly Named[] = [...FIRST_STEPS, ...STEPS_THERE, TRANSFER, POST_HOOK, COMPLETED];
