import { RESERVED, WEBHOOK } from '../../functions/domain/names.ts';
import type { Clock } from '../../functions/runtime/clock.ts';
import type { Log } from '../../functions/runtime/log.ts';
import type { ValidatingWebhookConfiguration } from '../tls/resources.ts';
import { LastingProblem } from '../../functions/runtime/lasting-problem.ts';

/**
 * Whether the installed webhook treats KubeVirt's namespace as reserved. CEL cannot read our environment, so the name exists in
 * two places. A difference is safe: the steps never lock the one, and `raise` gets no proof in the other. But migrations in the
 * other one get no help.
 */
export function knowsNamespace(
  { webhooks = [] }: ValidatingWebhookConfiguration,
  namespace: string,
): boolean {
  if (RESERVED.prefixes.some((prefix) => namespace.startsWith(prefix))) return true;
  const locked = webhooks.find(({ name }) => name === WEBHOOK.locked);
  return (locked?.matchConditions ?? []).some(({ expression }) => expression.includes(`'${namespace}'`));
}

/** Logs the difference until it is gone: during an update the webhook may follow later. */
export function warnOfOtherNamespace(
  namespace: string,
  log: Log,
  clock?: Clock,
): (configuration: ValidatingWebhookConfiguration) => void {
  const problem = new LastingProblem(log, clock);
  const unknown =
    `KUBEVIRT_NAMESPACE is ${namespace}, but the matchConditions of webhook ${WEBHOOK.locked} do not name it: ` +
    'change the manifests as docs/operations.md says';
  return (configuration) => problem.note(knowsNamespace(configuration, namespace) ? undefined : unknown);
}
