import { encodingOf, MalformedEvent, readEvent, type CloudEvent } from './cloudevent.ts';
import { isSuccess } from './delivery.ts';
import type { Answer, NoAnswer } from './exchange.ts';

/** The Broker filter's interpretation of a subscriber's answer. */
export interface AnswerResult {
  readonly status: number;
  readonly body: Buffer;
  /** The event to publish. */
  readonly reply?: CloudEvent;
  /** The answer was a success, but neither empty nor an event: a failure without error data. */
  readonly noEvent?: true;
}

const NO_EVENT: AnswerResult = { status: 502, body: Buffer.alloc(0), noEvent: true };

/** The reply rule (facts/knative.md §2.1): 2xx is an acknowledgement when empty, a new event, or else a 502. */
export function classifyAnswer(answer: Answer): AnswerResult {
  const { status, body } = answer;
  if (!isSuccess(status)) return { status, body };
  if (encodingOf(answer.headers) === 'none') return body.length === 0 ? { status, body } : NO_EVENT;
  try {
    return { status, body, reply: readEvent(answer) };
  } catch (error) {
    if (error instanceof MalformedEvent) return NO_EVENT;
    throw error;
  }
}

const MAX_ERROR_DATA = 1_024;

export interface Failure {
  /** Where it was sent. */
  readonly destination: string;
  readonly status: number;
  readonly body: Buffer;
}

/** The error data of a dead letter. */
export function errorAttributes({ destination, status, body }: Failure): Record<string, string> {
  return {
    knativeerrordest: destination,
    knativeerrorcode: String(status),
    knativeerrordata: body.toString('base64').slice(0, MAX_ERROR_DATA),
  };
}

/** A request without an answer counts as a 500 with Go's error text. */
export const unanswered = (error: NoAnswer): { status: number; body: Buffer } => ({
  status: 500,
  body: Buffer.from(`dispatch error: ${error.message}`),
});
