import type { CloudEvent } from 'cloudevents';
import type { StepRequest } from '../eventing/step-request.ts';
import { REASON, type Reason } from '../domain/names.ts';
import { describeError, isConflict } from '../kubernetes/errors.ts';
import type { Log } from '../runtime/log.ts';
import { NotYet, type Outcome, type Step, type StepContext } from './step.ts';
import { KeyedSerializer } from '../runtime/keyed-serializer.ts';
import { BadEvent, toCloudEvent, toStepRequest } from '../eventing/cloud-events.ts';

/** What a Knative function may return: the next event, nothing, or a status (facts/knative.md §3.2). */
export type Answer = CloudEvent<Record<string, unknown>> | { statusCode: number; body: string } | undefined;

/** A Knative function, as `func` calls it: handle(context, event). */
export type Handle = (context: unknown, event?: CloudEvent<unknown>) => Promise<Answer>;

/** Deadline of a step; feasibility may wait for headroom that is about to return (headroom-wait.ts). */
const DEADLINE_MS = { feasibility: 12_000, other: 5_000 };

/**
 * The steps as one Knative function. It answers the Broker with the next event, or with nothing: done, not yet, or a lost
 * race. It answers 400 for an event that no step can use (dropped, or sent to the dead letter sink), and 503 for every error
 * that a retry may resolve.
 */
export function newFunction(steps: readonly Step[], context: StepContext): Handle {
  const serializer = new KeyedSerializer(context.clock);
  const run: Run = async (step, request) => {
    const outcome =
      step.skipOutcome?.(request) ?? (await runSerialized(step, request, { serializer, context }));
    logOutcome(context.log, { step, request, outcome });
    return outcome;
  };
  return async function handle(_context, event) {
    try {
      if (!isEvent(event)) throw new BadEvent('the request carries no CloudEvent');
      const request = toStepRequest(event);
      const [step, ...others] = stepsFor(steps, request);
      const outcome = others.length === 0 ? await run(step, request) : undefined;
      if (outcome === undefined) await runEach([step, ...others], request, { run, context });
      return outcome?.reply === undefined ? undefined : toCloudEvent(outcome.reply);
    } catch (error) {
      return answerError(error, context, event);
    }
  };
}

/**
 * Runs each step, which posts its own reply: with all steps in one process an event may run two of them, and an answer holds
 * one event.
 */
async function runEach(
  steps: readonly Step[],
  request: StepRequest,
  { run, context }: { readonly run: Run; readonly context: StepContext },
): Promise<void> {
  await Promise.all(
    steps.map(async (step) => {
      const { reply } = await run(step, request);
      if (reply !== undefined) await context.post(reply);
    }),
  );
}

type Run = (step: Step, request: StepRequest) => Promise<Outcome>;

async function runSerialized(
  step: Step,
  request: StepRequest,
  { serializer, context }: { readonly serializer: KeyedSerializer; readonly context: StepContext },
): Promise<Outcome> {
  const work = (): Promise<Outcome> => withDeadline(step, request, context);
  if (step.isSerialized !== true) return work();
  // Each call that shares the run replies: any pod may be the caller that started it, and a repeated event is harmless.
  const { result } = await serializer.serialize(
    {
      key: `${step.name} ${request.maintenance?.node ?? request.namespace}`,
      dedupeKey: dedupeKeyOf(request),
    },
    work,
  );
  return result;
}

/** Key of the requests that share one run: each field that a step may base its decision on, except the event's id. */
const dedupeKeyOf = ({ type, kind, token, eventObject, quotas, vmmrqs, maintenance }: StepRequest): string =>
  JSON.stringify([
    ...[type, kind, token, eventObject?.metadata.name, eventObject?.metadata.uid],
    ...[quotas, vmmrqs, maintenance],
  ]);

/** Whether the value is an event: without one, faas-js-runtime passes the body as it is (facts/knative.md §3.2). */
export const isEvent = (value: unknown): value is CloudEvent<unknown> =>
  typeof value === 'object' && value !== null && 'specversion' in value;

/** Returns at least one step. Throws BadEvent. */
function stepsFor(steps: readonly Step[], request: StepRequest): [Step, ...Step[]] {
  const [first, ...others] = steps.filter(({ triggers }) =>
    triggers.some(
      ({ type, kind, source }) =>
        type === request.type &&
        (kind === undefined || kind === request.kind) &&
        (source === undefined || source === request.source),
    ),
  );
  if (first !== undefined) return [first, ...others];
  const names = steps.map(({ name }) => name).join(', ');
  throw new BadEvent(`no step here (${names}) handles ${request.type} ${request.kind ?? ''}`);
}

async function withDeadline(step: Step, request: StepRequest, context: StepContext): Promise<Outcome> {
  const ms = step.name === 'feasibility' ? DEADLINE_MS.feasibility : DEADLINE_MS.other;
  const late = Promise.withResolvers<never>();
  const cancel = context.clock.after(ms, () =>
    late.reject(new Error(`${step.name} took longer than ${String(ms)} ms`)),
  );
  try {
    return await Promise.race([step.handle(request, context), late.promise]);
  } finally {
    cancel();
  }
}

interface Done {
  readonly step: Step;
  readonly request: StepRequest;
  readonly outcome: Outcome;
}

/** Reasons of a run that changed nothing and reports nothing new, as most runs of a cycle do. */
const QUIET: readonly Reason[] = [
  REASON.nothingBlocked,
  REASON.freshRefusal,
  REASON.notOurLock,
  REASON.stillWaiting,
  REASON.reported,
];

function logOutcome(log: Log, { step, request, outcome }: Done): void {
  const isQuiet = outcome.reply === undefined && QUIET.includes(outcome.reason);
  log(isQuiet ? 'debug' : 'info', outcome.message, {
    step: step.name,
    event: request.type,
    eventId: request.id,
    namespace: request.namespace,
    maintenance: request.maintenance,
    token: outcome.token ?? request.token,
    reason: outcome.reason,
    migrations: outcome.migrations ?? outcome.reply?.migrations?.map(({ name }) => name),
    reply: outcome.reply?.type,
  });
}

function answerError(error: unknown, { log }: StepContext, event: CloudEvent<unknown> | undefined): Answer {
  const fields = { event: event?.type, eventId: event?.id, subject: event?.subject };
  if (error instanceof BadEvent) {
    log('warn', error.message, fields);
    return { statusCode: 400, body: error.message };
  }
  if (isConflict(error)) {
    log('info', `another writer was first: ${describeError(error)}`, fields);
    return undefined;
  }
  if (error instanceof NotYet) log('info', error.message, { ...fields, reason: error.reason });
  else log('error', describeError(error), fields);
  return { statusCode: 503, body: '' };
}
