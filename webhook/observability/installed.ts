import { RESERVED, WEBHOOK } from '../../functions/domain/names.ts';
import type { Log } from '../../functions/runtime/log.ts';
import type { ValidatingWebhookConfiguration } from '../tls/resources.ts';

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

/** Logs the difference once, until it is gone. */
export function warnOfOtherNamespace(
  namespace: string,
  log: Log,
): (configuration: ValidatingWebhookConfiguration) => void {
  let warned = false;
  return (configuration) => {
    const known = knowsNamespace(configuration, namespace);
    if (!known && !warned) {
      log(
        'error',
        `KUBEVIRT_NAMESPACE is ${namespace}, but the matchConditions of webhook ${WEBHOOK.locked} do not name it: ` +
          'change the manifests as docs/operations.md says',
      );
    }
    warned = !known;
  };
}
