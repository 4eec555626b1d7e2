import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { FULL_MIGRATIONS, newMigration } from '../../test/cluster/kubevirt/objects/objects.ts';
import { mapAtMost } from '../../kubectl/cluster/map-at-most.ts';
import type { MeasureOptions } from './figures.ts';
import { until, untilQuiet, type Environment } from './environment.ts';

/** Maximum in each namespace: KubeVirt's stand-in looks through a namespace at each change. The measured namespace is the first. */
const PER_NAMESPACE = 1_000;
/** KubeVirt keeps five of a VMI. */
const OF_A_VMI = 5;
const AT_ONCE = 20;

const PREFIX = 'finished-';
/** The finalizer without which KubeVirt removes migrations whose VMI is gone, and all but five of a VMI. */
const KEPT = 'bench.mtq.kubevirt.io/kept';

interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly vmi: string;
}

/** Names and namespaces for so many migrations that have ended. */
export const placesOf = (count: number, measured: string): Place[] =>
  Array.from({ length: count }, (_, index) => ({
    namespace: namespaceOf(Math.floor(index / PER_NAMESPACE), measured),
    name: `${PREFIX}${index}`,
    vmi: `gone-${Math.floor(index / OF_A_VMI)}`,
  }));

const namespaceOf = (index: number, measured: string): string =>
  index === 0 ? measured : `bench-finished-${index}`;

/** Stores so many migrations that have succeeded, also where the cycles run: a cycle that lists them is a defect. */
export async function storeFinishedMigrations(
  { namespace, count }: { readonly namespace: string; readonly count: number },
  environment: Environment,
  { onProgress }: Pick<MeasureOptions, 'onProgress'>,
): Promise<void> {
  const { admin, cluster, requestLog, watching } = environment;
  const { broker } = cluster.eventing;
  // Each event would cause two runs of a function, for which the cycles would wait. The bench does not measure them.
  broker.lose(({ event }) => event.attributes['name']?.startsWith(PREFIX) === true);
  const places = placesOf(count, namespace);
  let stored = 0;
  // The namespaces follow each other: KubeVirt's stand-in looks through its whole queue for each of them.
  for (const [name, inOne] of Map.groupBy(places, (place) => place.namespace)) {
    if (name !== namespace) await admin.create(NAMESPACES, { metadata: { name } });
    await mapAtMost(AT_ONCE, inOne, (place) => store(admin, place));
    await until(environment, 'KubeVirt has deleted these finished migrations, and all are kept', () =>
      inOne.every((place) => isDeleted(environment, place)),
    );
    stored += inOne.length;
    onProgress(`${stored} of ${count} finished migrations`);
    // Drop these records, which no figure uses: at the end, their text would exceed the longest string and this process's memory.
    requestLog.read();
    watching.changes.length = 0;
  }
  await untilQuiet(environment);
}

async function store(admin: Cluster, place: Place): Promise<void> {
  const { metadata, spec } = newMigration(place);
  await admin.create(FULL_MIGRATIONS, { metadata: { ...metadata, finalizers: [KEPT] }, spec });
  const merge = { status: { phase: 'Succeeded' } };
  await admin.patch(FULL_MIGRATIONS, place, { merge, subresource: 'status' });
}

function isDeleted({ watching }: Environment, place: Place): boolean {
  const found = watching.find('VirtualMachineInstanceMigration', place.name, place.namespace);
  return found?.metadata.deletionTimestamp !== undefined;
}
