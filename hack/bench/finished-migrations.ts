import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { FULL_MIGRATIONS, newMigration } from '../../test/cluster/kubevirt/objects.ts';
import type { MeasureOptions } from './figures.ts';
import { inParallel } from './in-parallel.ts';
import { untilQuiet, type Environment } from './environment.ts';

/** For those that the measured namespace does not take. */
const ELSEWHERE = 'bench-finished';
/** A function lists at most 35,000 of one namespace (docs/scale.md#memory); with more, no migration there gets its lock. */
const MAX_IN_ONE = 30_000;
const AT_ONCE = 20;
const PROGRESS_EVERY = 10_000;

/** Where to store so many migrations that have ended: in the measured namespace first, and in another one what is too much there. */
export const placesOf = (count: number, namespace: string): { namespace: string; name: string }[] =>
  Array.from({ length: count }, (_, index) => ({
    namespace: index < MAX_IN_ONE ? namespace : ELSEWHERE,
    name: `finished-${index}`,
  }));

/** Stores so many migrations that have succeeded: most of them where the cycles run, because a cycle that lists them is a defect. */
export async function storeFinishedMigrations(
  { namespace, count }: { readonly namespace: string; readonly count: number },
  environment: Environment,
  { onProgress }: Pick<MeasureOptions, 'onProgress'>,
): Promise<void> {
  const { admin } = environment;
  const places = placesOf(count, namespace);
  if (places.some((place) => place.namespace === ELSEWHERE))
    await admin.create(NAMESPACES, { metadata: { name: ELSEWHERE } });
  let stored = 0;
  await inParallel(places, AT_ONCE, async (place) => {
    const { metadata, spec } = newMigration({ ...place, vmi: 'gone' });
    const { finalizers: _finalizers, ...unheld } = metadata;
    await admin.create(FULL_MIGRATIONS, { metadata: unheld, spec });
    const merge = { status: { phase: 'Succeeded' } };
    await admin.patch(FULL_MIGRATIONS, place, { merge, subresource: 'status' });
    stored += 1;
    if (stored % PROGRESS_EVERY === 0) onProgress(`${stored} of ${count} finished migrations`);
  });
  await untilQuiet(environment);
}
