import { feasibility } from './feasibility/handle.ts';
import { lock } from './lock/handle.ts';
import { lower } from './lower/handle.ts';
import { progress } from './progress/handle.ts';
import { raise } from './raise/handle.ts';
import type { Step } from './host/step.ts';
import { unlock } from './unlock/handle.ts';

/** The steps of a cycle: each replies with the event of the next one. */
export const CYCLE: readonly Step[] = [feasibility, lock, raise, lower, unlock];

/**
 * Every step declares its triggers and its replies. config/eventing has one Knative Trigger for each of them; test/contract checks
 * that both agree. `progress` belongs to no cycle: it replies nothing, and what it writes decides nothing.
 */
export const STEPS: readonly Step[] = [...CYCLE, progress];
