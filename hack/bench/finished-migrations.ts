import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { FULL_MIGRATIONS, newMigration } from '../../test/cluster/kubevirt/objects.ts';
import { mapAtMost } from '../../kubectl/cluster/map-at-most.ts';
import type { MeasureOptions } from './figures.ts';
import { until, untilQuiet, type Environment } from './environment.ts';

/** Those that the measured namespace does not take, so many in one: KubeVirt's stand-in looks through a namespace at each change. */
const ELSEWHERE = { prefix: 'bench-finished-', each: 1_000 };
/** KubeVirt keeps five of a VMI. */
const OF_A_VMI = 5;
/** A function lists at most 35,000 of one namespace (docs/scale.md#memory); with more, no migration there gets its lock. */
const MAX_IN_ONE = 30_000;
const AT_ONCE = 20;
const PROGRESS_EVERY = 1_000;

const PREFIX = 'finished-';
/** Without it KubeVirt removes migrations whose VMI is gone, and all but five of a VMI. */
const KEPT = 'bench.mtq.kubevirt.io/kept';

interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly vmi: string;
}

/** Where to store so many migrations that have ended: in the measured namespace first, and in others what is too much there. */
export const placesOf = (count: number, namespace: string): Place[] =>
  Array.from({ length: count }, (_, index) => ({
    namespace:
      index < MAX_IN_ONE
        ? namespace
        : `${ELSEWHERE.prefix}${Math.floor((index - MAX_IN_ONE) / ELSEWHERE.each)}`,
    name: `${PREFIX}${index}`,
    vmi: `gone-${Math.floor(index / OF_A_VMI)}`,
  }));

/** Stores so many migrations that have succeeded: most of them where the cycles run, because a cycle that lists them is a defect. */
export async function storeFinishedMigrations(
  { namespace, count }: { readonly namespace: string; readonly count: number },
  environment: Environment,
  { onProgress }: Pick<MeasureOptions, 'onProgress'>,
): Promise<void> {
  const { admin, cluster, requestLog, watching } = environment;
  const { broker } = cluster.eventing;
  // Each would be two runs of a function, which the cycles would wait for. They are no part of what is measured.
  broker.lose(({ event }) => event.attributes['name']?.startsWith(PREFIX) === true);
  const places = placesOf(count, namespace);
  const others = new Set(places.map((place) => place.namespace));
  others.delete(namespace);
  for (const name of others) await admin.create(NAMESPACES, { metadata: { name } });
  let stored = 0;
  await mapAtMost(AT_ONCE, places, async (place) => {
    const { metadata, spec } = newMigration(place);
    await admin.create(FULL_MIGRATIONS, { metadata: { ...metadata, finalizers: [KEPT] }, spec });
    const merge = { status: { phase: 'Succeeded' } };
    await admin.patch(FULL_MIGRATIONS, place, { merge, subresource: 'status' });
    stored += 1;
    if (stored % PROGRESS_EVERY > 0) return;
    onProgress(`${stored} of ${count} finished migrations`);
    // Nobody measures these: at the end they would be more than one string and this process can hold.
    requestLog.read();
    watching.changes.length = 0;
  });
  let deleted = 0;
  await until(environment, 'KubeVirt has deleted every finished migration, and all are kept', () => {
    while (deleted < count && isDeleted(environment, places[deleted])) deleted += 1;
    return deleted === count;
  });
  await untilQuiet(environment);
}

function isDeleted({ watching }: Environment, place?: Place): boolean {
  const found = place && watching.find('VirtualMachineInstanceMigration', place.name, place.namespace);
  return found?.metadata.deletionTimestamp !== undefined;
}
