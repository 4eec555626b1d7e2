import { ANNOTATION, LABEL } from '../../../functions/domain/names.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { unless, type Case } from './check-result.ts';

/** Checks that the namespace is unlocked and otherwise unchanged; last-attempt exists only after a failure. */
export async function namespaceCheck({ tenant, kind, before, admin }: Case): Promise<string[]> {
  const { object } = await admin.get(NAMESPACES, { name: tenant.namespace });
  const { labels = {}, annotations = {} } = object.metadata;
  const { [ANNOTATION.lastAttempt]: attempt, ...others } = annotations;
  const isLocked = ANNOTATION.lock in annotations || LABEL.locked in labels;
  const metadataText = JSON.stringify([labels, others]);
  const failed = kind === 'cancelled';
  return [
    ...unless(!isLocked, 'it is still locked'),
    ...unless(
      metadataText === JSON.stringify([before.labels, before.annotations]),
      `it has ${metadataText} now`,
    ),
    ...unless((attempt !== undefined) === failed, `last-attempt is ${attempt ?? 'missing'}`),
  ];
}
