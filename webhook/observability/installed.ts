import { RESERVED, WEBHOOK } from '../../functions/domain/names.ts';
import type { Log } from '../../functions/runtime/log.ts';
import type { ValidatingWebhookConfiguration } from '../tls/resources.ts';

/**
 * Whether the installed webhook knows KubeVirt's namespace as reserved. CEL cannot read our environment, so the name
 * is written in two places; where they differ, nothing unsafe follows (the steps never lock the one, and without the
 * guard's proof nothing is raised in the other), but migrations there wait in vain.
 */
export function knowsNamespace(
  { webhooks = [] }: ValidatingWebhookConfiguration,
  namespace: string,
): boolean {
  if (RESERVED.prefixes.some((prefix) => namespace.startsWith(prefix))) return true;
  const locked = webhooks.find(({ name }) => name === WEBHOOK.locked);
  return (locked?.matchConditions ?? []).some(({ expression }) => expression.includes(`'${namespace}'`));
}

/** Says so in the log, once for as long as it is so. */
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
