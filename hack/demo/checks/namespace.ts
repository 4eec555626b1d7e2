import { ANNOTATION, LABEL } from '../../../functions/domain/names.ts';
import { lastAttemptOf } from '../../../functions/domain/verdict/attempt.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { unless, type Case } from './check-result.ts';

/**
 * Checks that the namespace is unlocked and otherwise unchanged; last-attempt exists only after a failure, and after a lock that
 * counts for none: one that ended before KubeVirt had tried again, or whose pod the quotas counted before it was stored.
 */
export async function namespaceCheck({ tenant, kind, before, admin }: Case): Promise<string[]> {
  const { object, date } = await admin.get(NAMESPACES, { name: tenant.namespace });
  const { labels = {}, annotations = {} } = object.metadata;
  const { [ANNOTATION.lastAttempt]: attempt, ...others } = annotations;
  const isLocked = ANNOTATION.lock in annotations || LABEL.locked in labels;
  const metadataText = JSON.stringify([labels, others]);
  const failed = kind === 'cancelled';
  const isUncounted = !failed && lastAttemptOf(object, date.getTime())?.failures === 0;
  return [
    ...unless(!isLocked, 'it is still locked'),
    ...unless(
      metadataText === JSON.stringify([before.labels, before.annotations]),
      `it has ${metadataText} now`,
    ),
    ...unless((attempt !== undefined && !isUncounted) === failed, `last-attempt is ${attempt ?? 'missing'}`),
  ];
}
