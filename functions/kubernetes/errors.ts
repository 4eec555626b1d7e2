import { shown, type ForeignText } from '../domain/foreign-text.ts';

/** metav1.Status, the fields that we read. */
export interface Status {
  readonly code?: number | undefined;
  readonly reason?: ForeignText | undefined;
  readonly message?: ForeignText | undefined;
  readonly details?: {
    readonly name?: string | undefined;
    readonly kind?: string | undefined;
    readonly causes?: readonly Cause[] | undefined;
    readonly retryAfterSeconds?: number | undefined;
  };
}

interface Cause {
  readonly reason?: ForeignText | undefined;
  readonly message?: ForeignText | undefined;
  readonly field?: string | undefined;
}

/** Causes that are kept of a Status with a limit. */
const MAX_CAUSES = 10;

/**
 * Returns the Status as it may be shown to people: each text has at most `maxText` characters in one line. What has another type than it
 * should is left out.
 */
export function shortStatus({ code, reason, message, details }: Status, maxText: number): Status {
  const short = (text: unknown): string | undefined =>
    typeof text === 'string' ? shown(text, maxText) : undefined;
  const { name, kind, causes, retryAfterSeconds } = details ?? {};
  return {
    code,
    reason: short(reason),
    message: short(message),
    details: {
      name: short(name),
      kind: short(kind),
      causes: (Array.isArray(causes) ? causes : [])
        .slice(0, MAX_CAUSES)
        .map((cause: Cause | null) => ({ reason: short(cause?.reason), message: short(cause?.message) })),
      retryAfterSeconds: typeof retryAfterSeconds === 'number' ? retryAfterSeconds : undefined,
    },
  };
}

/** The API server answered, and refused. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. */
  readonly code: number;
  /** metav1.StatusReason: NotFound, Conflict, Forbidden, Invalid, … */
  readonly reason: string;
  readonly status: Status;
  readonly date: Date;

  constructor(request: string, status: Status, date: Date) {
    super(`${request}: ${shown(status.message ?? status.reason ?? `HTTP ${String(status.code)}`)}`);
    this.code = status.code ?? 500;
    this.reason = shown(status.reason ?? 'Unknown');
    this.status = status;
    this.date = date;
  }
}

/** The API server did not answer, or with what no API server answers: unknown whether a write took effect. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** No API server answered the request. */
export class NoAnswer extends Unreachable {}

/** The process has no memory for the answer now, which says nothing about the server. Unknown whether a write took effect. */
export class Busy extends Unreachable {}

/** The list is larger than one of our processes may hold in memory. */
export class TooMuch extends Error {
  override readonly name = 'TooMuch';
}

/** The object is not there. */
export const isNotFound = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === 404;

/** Whether another writer was first, so that the caller reads again. (AlreadyExists is a 409 too, with its own reason.) */
export const isConflict = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === 409 && error.reason !== 'AlreadyExists';

export const isAlreadyExists = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.reason === 'AlreadyExists';

/** The API server creates nothing in a namespace that is being deleted (corev1.NamespaceTerminatingCause). */
export const isTerminating = (error: unknown): error is ApiError =>
  error instanceof ApiError &&
  (error.status.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating');

/** The API server does not accept the token. */
export const isUnauthorized = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === 401;

/** The account lacks a right. */
export const isForbidden = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === 403;

/** The API server's own words about what it refused. */
export const refusalOf = (what: string, { status, reason }: ApiError): string =>
  `the API server refused ${what}: ${shown(status.message ?? reason)}`;

/** Whether a rule or a policy refused for good: a retry changes nothing. */
export const isRejected = (error: unknown): error is ApiError =>
  error instanceof ApiError && [400, 403, 405, 413, 422].includes(error.code);

/** The API server answered and could not decide, such as because a webhook does not answer. A proxy before it has other codes. */
export const isInternal = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === 500;

/** The resource version asked for is no longer kept: list again. */
export const isGone = (error: unknown): error is ApiError => error instanceof ApiError && error.code === 410;

/** The requested resource version is later than any in storage: the storage was restored from a backup. */
export const isTooLargeVersion = (error: unknown): error is ApiError =>
  error instanceof ApiError &&
  (error.status.details?.causes ?? []).some(({ reason }) => reason === 'ResourceVersionTooLarge');

/** Describes any thrown value in one line, for a log or an answer. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return shown(String(error));
  const cause = error.cause instanceof Error ? ` (${shown(error.cause.message)})` : '';
  return `${error.name}: ${shown(error.message)}${cause}`;
}

/** Returns undefined for an object that is not there. */
export async function ignoreNotFound<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
