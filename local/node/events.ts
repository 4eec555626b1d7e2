import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { STEPS } from '../../functions/steps.ts';

/** One of our events, as far as a Broker looks at it. */
export interface Carried {
  readonly type: string;
  /** Its data, JSON. */
  readonly data: string;
}

export interface Answer {
  readonly step: string;
  readonly status: number;
  /** What it replied with; undefined for an answer without a body. */
  readonly reply: Carried | undefined;
}

const WITHIN_MS = 30_000;
const PORT = 8080;

/** The step that has a Trigger for it. */
export function stepFor(type: string): string {
  const step = STEPS.find(({ wakesOn }) => wakesOn.some((each) => each.type === type));
  if (step === undefined) throw new Error(`no step wakes on ${type}`);
  return step.name;
}

/** Posts an event to the pod of the step that wakes on it, as a Broker does: a binary CloudEvent. */
export async function carry(event: Carried, addresses: ReadonlyMap<string, string>): Promise<Answer> {
  const step = stepFor(event.type);
  const address = addresses.get(step);
  if (address === undefined) throw new Error(`the pod of ${step} has no address`);
  const answer = await fetch(`http://${address}:${PORT}/`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'ce-specversion': '1.0',
      'ce-id': crypto.randomUUID(),
      'ce-source': `/${SYSTEM_NAMESPACE}/test-node`,
      'ce-type': event.type,
    },
    body: event.data,
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  const type = answer.headers.get('ce-type');
  const data = await answer.text();
  return { step, status: answer.status, reply: type === null ? undefined : { type, data } };
}
