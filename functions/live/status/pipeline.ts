import type { PipelineStage, PlanVm, RunTimes, StageError } from '../../domain/live/forklift.ts';
import { defined } from './defined.ts';
import { COMPLETED, ITINERARY, type Stage } from '../steps/itinerary.ts';

/** Forklift's text for each stage, which its UI has (facts/cross-cluster.md §A1). */
const DESCRIPTION: Readonly<Record<Stage, string>> = {
  Initialize: 'Initialize migration.',
  PreHook: 'Run pre-migration hook.',
  PrepareTarget: 'Prepare target namespace.',
  Synchronization: 'Synchronize source and target VMs.',
  PostHook: 'Run post-migration hook.',
};

interface StepInStage {
  readonly name: string;
  readonly stage: Stage;
}

/** The steps of a VM. Without a hook its stage is left out, and the last step belongs to the one before. */
export function stepsOf({ hooks = [] }: Pick<PlanVm, 'hooks'>): readonly StepInStage[] {
  const isLeftOut = (stage: Stage): boolean =>
    (stage === 'PreHook' || stage === 'PostHook') && !hooks.some(({ step }) => step === stage);
  return ITINERARY.flatMap(({ name, stage }): StepInStage[] => {
    if (!isLeftOut(stage)) return [{ name, stage }];
    return name === COMPLETED.name ? [{ name, stage: 'Synchronization' }] : [];
  });
}

/** The number of steps that a pipeline has as done. */
export const doneIn = (pipeline: readonly PipelineStage[]): number =>
  pipeline.reduce((sum, { progress }) => sum + progress.completed, 0);

/** The progress of a pipeline, in percent. */
export function percentOf(pipeline: readonly PipelineStage[]): number {
  const total = pipeline.reduce((sum, { progress }) => sum + progress.total, 0);
  return total === 0 ? 0 : Math.floor((doneIn(pipeline) * 100) / total);
}

export interface Position {
  /** Number of steps that are done. */
  readonly done: number;
  /** Times of the VM. */
  readonly times: RunTimes;
  /** The reason for which the stage waits. */
  readonly reason?: string | undefined;
  readonly error?: StageError | undefined;
  /** RFC 3339. */
  readonly time: string;
}

/** Returns the pipeline at a position. Times that are there stay. */
export function pipelineAt(
  steps: readonly StepInStage[],
  before: readonly PipelineStage[],
  position: Position,
): PipelineStage[] {
  const stages = [...new Set(steps.map(({ stage }) => stage))];
  return stages.map((name) => {
    const first = steps.findIndex(({ stage }) => stage === name);
    const total = steps.filter(({ stage }) => stage === name).length;
    const completed = Math.max(0, Math.min(total, position.done - first));
    const known = before.find((stage) => stage.name === name);
    const progress = { total, completed };
    const isReached = position.times.started !== undefined && position.done >= first;
    const state = isReached ? stateOf(progress, known, position) : { phase: 'Pending' as const };
    return { name, description: DESCRIPTION[name], ...state, progress };
  });
}

/** Returns the state of a stage that has begun. */
function stateOf(
  { total, completed }: PipelineStage['progress'],
  known: PipelineStage | undefined,
  { times, reason, error, time }: Position,
): Pick<PipelineStage, 'phase' | 'started' | 'completed' | 'reason' | 'error'> {
  const started = known?.started ?? time;
  const isDone = completed === total;
  if (!isDone && times.completed === undefined)
    return { phase: 'Running', started, ...defined({ reason, error }) };
  const ended = { phase: 'Completed' as const, started, completed: known?.completed ?? time };
  return isDone ? ended : { ...ended, ...defined({ error }) };
}
