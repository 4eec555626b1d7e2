import type { Assessment } from '../domain/verdict/assessment.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { EVENT } from '../domain/names.ts';
import { ownVmmrqs } from '../domain/policy/policy.ts';
import type { Vmmrq } from '../domain/objects.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { writeNewEvents, writeVmmrqStatus } from '../cluster/report.ts';
import type { StepContext } from '../host/step.ts';
import type { FeasibilityDecision } from './decide.ts';

/** Logs one line for each decision about a migration. */
export function logVerdicts(
  { namespace }: StepRequest,
  { verdicts }: Assessment,
  { log }: StepContext,
): void {
  for (const { migration, verdict, reason, message } of verdicts) {
    log('info', message, { step: 'feasibility', namespace, migration: migration.name, verdict, reason });
  }
}

/** The decision, and the reply that was sent for it. */
type Reported = Pick<FeasibilityDecision, 'events' | 'statusOf'> & {
  readonly reply: FeasibilityDecision['reply'] | undefined;
};

/**
 * Writes the verdicts as Events on migrations, VMMRQs and VMIs, and updates the VMMRQs' status. The status is skipped when a
 * raise follows: the cycle updates it too, and every write of it triggers feasibility again.
 */
export async function report(
  snapshot: NamespaceSnapshot,
  { events, statusOf, reply }: Reported,
  context: StepContext,
): Promise<void> {
  const vmmrqs = reply?.type === EVENT.migrationFeasible ? [] : ownVmmrqs(snapshot);
  await Promise.all([
    writeNewEvents(context, snapshot.namespace.metadata.name, events),
    ...vmmrqs.map((vmmrq) => {
      // The verdicts are of the spec that was read. The event of a newer one starts its own look.
      const isRead = ({ metadata }: Vmmrq): boolean => metadata.generation === vmmrq.metadata.generation;
      return writeVmmrqStatus(context, vmmrq, (newest) => (isRead(newest) ? statusOf(newest) : undefined));
    }),
  ]);
}
