import { ANNOTATION } from '../domain/names.ts';
import type { Migration } from '../domain/objects.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { isNotFound } from '../kubernetes/errors.ts';
import { MIGRATIONS } from '../kubernetes/resources.ts';
import { inGroups } from './in-groups.ts';

/**
 * Touches migrations so that virt-controller looks at them again (facts/kubevirt.md §1.4); `value` is the reason. A deleted
 * one needs no nudge.
 */
export async function nudge(
  cluster: Cluster,
  migrations: readonly { readonly metadata: Pick<Migration['metadata'], 'name' | 'namespace'> }[],
  value: string,
): Promise<void> {
  const merge = { metadata: { annotations: { [ANNOTATION.nudged]: value } } };
  await inGroups(migrations, async ({ metadata: { name, namespace = '' } }) => {
    try {
      await cluster.patch(MIGRATIONS, { name, namespace }, { merge });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  });
}
