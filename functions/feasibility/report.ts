import type { Assessment } from '../domain/verdict/assessment.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { EVENT } from '../domain/names.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { writeEvents, writeVmmrqStatus } from '../cluster/report.ts';
import type { StepContext } from '../host/step.ts';
import type { FeasibilityDecision } from './decide.ts';

/** One line for each decision about a migration. */
export function logVerdicts(
  { namespace }: StepRequest,
  { verdicts }: Assessment,
  { log }: StepContext,
): void {
  for (const { migration, verdict, reason, message } of verdicts) {
    log('info', message, { step: 'feasibility', namespace, migration: migration.name, verdict, reason });
  }
}

/** The decision, and what is replied of it. */
type Reported = Pick<FeasibilityDecision, 'events' | 'statusOf'> & {
  readonly reply: FeasibilityDecision['reply'] | undefined;
};

/**
 * Says on each migration, VMMRQ and VMI what the verdict is, and brings the VMMRQs' status up to date; not when a raise
 * follows: that writes the status too, and every write of it wakes us again.
 */
export async function report(
  snapshot: NamespaceSnapshot,
  { events, statusOf, reply }: Reported,
  context: StepContext,
): Promise<void> {
  const vmmrqs = reply?.type === EVENT.migrationFeasible ? [] : snapshot.vmmrqs;
  await Promise.all([
    writeEvents(context, events),
    ...vmmrqs.map((vmmrq) => writeVmmrqStatus(context, vmmrq, statusOf)),
  ]);
}
