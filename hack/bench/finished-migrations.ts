import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { FULL_MIGRATIONS, newMigration } from '../../test/cluster/kubevirt/objects.ts';
import type { MeasureOptions } from './figures.ts';
import { untilQuiet, type Environment } from './environment.ts';

const NAMESPACE = 'bench-finished';
const AT_ONCE = 20;
const PROGRESS_EVERY = 10_000;

/** Stores so many migrations that have succeeded, in a namespace of their own, where KubeVirt keeps them. */
export async function storeFinishedMigrations(
  environment: Environment,
  count: number,
  { onProgress }: Pick<MeasureOptions, 'onProgress'>,
): Promise<void> {
  const { admin } = environment;
  await admin.create(NAMESPACES, { metadata: { name: NAMESPACE } });
  let next = 0;
  const store = async (): Promise<void> => {
    while (next < count) {
      const name = `finished-${next}`;
      next += 1;
      const { metadata, spec } = newMigration({ namespace: NAMESPACE, name, vmi: 'gone' });
      const { finalizers: _finalizers, ...unheld } = metadata;
      await admin.create(FULL_MIGRATIONS, { metadata: unheld, spec });
      const merge = { status: { phase: 'Succeeded' } };
      await admin.patch(FULL_MIGRATIONS, { namespace: NAMESPACE, name }, { merge, subresource: 'status' });
      if (next % PROGRESS_EVERY === 0) onProgress(`${next} of ${count} finished migrations`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, store));
  await untilQuiet(environment);
}
