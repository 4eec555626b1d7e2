import { feasibility } from './feasibility/handle.ts';
import { lock } from './lock/handle.ts';
import { lower } from './lower/handle.ts';
import { raise } from './raise/handle.ts';
import type { Step } from './host/step.ts';
import { unlock } from './unlock/handle.ts';

/**
 * The itinerary of a release, as a table: each row says what wakes it and what it replies with. config/eventing has one
 * Trigger for each thing that wakes a step; test/contract holds the two together.
 */
export const STEPS: readonly Step[] = [feasibility, lock, raise, lower, unlock];
