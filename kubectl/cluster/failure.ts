import { shown } from '../../functions/domain/foreign-text.ts';
import { ApiError, NoAnswer, TooMuch, Unreachable } from '../../functions/kubernetes/errors.ts';

/** Describes what may fail between plugin and API server to people, in one line; undefined: any other error. */
export function describeFailure(error: unknown): string | undefined {
  if (error instanceof ApiError)
    return `from the API server (${error.reason}): ${shown(error.status.message ?? error.message)}`;
  if (!(error instanceof Unreachable || error instanceof TooMuch)) return undefined;
  const cause = error.cause instanceof Error ? ` (${shown(error.cause.message)})` : '';
  return error instanceof NoAnswer
    ? `the API server does not answer${cause}: check --server, --context or the kubeconfig`
    : `${shown(error.message)}${cause}`;
}
