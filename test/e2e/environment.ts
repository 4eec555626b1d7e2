import type { KubernetesObject, ResourceQuota } from '../../functions/domain/objects.ts';
import type { Cluster, New } from '../../functions/kubernetes/cluster.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { typeOf } from '../cluster/install.ts';
import { FULL_VMIS } from '../cluster/kubevirt/objects/objects.ts';
import { History } from '../support/tenant/history.ts';
import type { Options } from './options.ts';
import type { Scenario } from './scenario.ts';
import { until } from './until.ts';
import { asByVirtApi } from './virt-api.ts';

/** Label with the run on every object that the suite creates. */
export const RUN_LABEL = 'mtq-e2e/run';

export interface World {
  readonly cluster: Cluster;
  readonly options: Pick<Options, 'standIns' | 'seconds' | 'keep'>;
  /** Identity of this run; part of each namespace's name. */
  readonly run: string;
  /** Aborts when the user interrupts the run. */
  readonly signal: AbortSignal;
}

/** A scenario's own namespace. */
export const namespaceOf = ({ name }: Scenario, { run }: World): string => `mtq-e2e-${name}-${run}`;

/** Creates the namespace, and watches everything in it. */
export async function open(scenario: Scenario, world: World): Promise<History> {
  const name = namespaceOf(scenario, world);
  const { metadata } = scenario.given.find(isNamespace) ?? {};
  await world.cluster.create(NAMESPACES, marked({ metadata: { ...metadata, name } }, world));
  return History.start(world.cluster, name);
}

/** Creates the objects of given.yaml in order, each after the previous one has settled. */
export async function createGiven(scenario: Scenario, world: World, history: History): Promise<void> {
  const namespace = namespaceOf(scenario, world);
  for (const given of scenario.given.filter((object) => !isNamespace(object))) {
    const object = marked({ ...given, metadata: { ...given.metadata, namespace } }, world);
    const made = world.options.standIns.has('kubevirt') ? asByVirtApi(object) : object;
    await world.cluster.create(typeOf({ ...given, metadata: { namespace } }), made);
    await untilCounted(given, { world, history });
  }
}

const isNamespace = ({ kind }: KubernetesObject): boolean => kind === NAMESPACES.kind;

const marked = <T extends New<KubernetesObject>>(object: T, { run }: World): T => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, [RUN_LABEL]: run } },
});

interface HistoryContext {
  readonly world: World;
  readonly history: History;
}

/** Waits until a quota has a status and until a VMI runs; other kinds need no wait. */
async function untilCounted(
  { kind = '', metadata: { name } }: KubernetesObject,
  context: HistoryContext,
): Promise<void> {
  const { world, history } = context;
  const { E2E_GIVEN_SECONDS: seconds } = world.options.seconds;
  await until({ what: `${kind} ${name} has settled`, seconds, signal: world.signal }, () => {
    if (kind === RESOURCE_QUOTAS.kind) return uncounted(history.latest(RESOURCE_QUOTAS, name));
    if (kind !== FULL_VMIS.kind) return '';
    const { phase = 'not there' } = history.latest(FULL_VMIS, name)?.status ?? {};
    return phase === 'Running' ? '' : `it is ${phase}`;
  });
}

const uncounted = (quota: ResourceQuota | undefined): string =>
  quota?.status?.used === undefined ? 'it has no status.used yet' : '';

/** Deletes the namespace with its content; resolves when it is gone. An interrupt does not stop it. */
export async function close(scenario: Scenario, world: World): Promise<void> {
  const { cluster, options } = world;
  const name = namespaceOf(scenario, world);
  await ignoreNotFound(cluster.delete(NAMESPACES, { name }));
  const wait = { what: `${name} is gone`, seconds: options.seconds.E2E_GONE_SECONDS, signal: NEVER };
  await until(wait, async () => {
    const read = await ignoreNotFound(cluster.get(NAMESPACES, { name }));
    return read === undefined
      ? ''
      : `its deletion: ${JSON.stringify((read.object as { status?: unknown }).status)}`;
  });
}

const NEVER = new AbortController().signal;
