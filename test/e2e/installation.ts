import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { Condition, KubernetesObject } from '../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES, VMMRQS } from '../../functions/kubernetes/resources.ts';
import type { StandIn } from './options.ts';
import { until } from './until.ts';
import { rawText } from '../support/raw-text.ts';

interface Reporting extends KubernetesObject {
  status?: { conditions?: Condition[]; availableReplicas?: number };
}

const type = (apiVersion: string, kind: string): ResourceType<Reporting> => ({
  apiVersion,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
});

const KNATIVE = [
  type('eventing.knative.dev/v1', 'Broker'),
  type('eventing.knative.dev/v1', 'Trigger'),
  type('serving.knative.dev/v1', 'Service'),
  type('sources.knative.dev/v1', 'ApiServerSource'),
];
const DEPLOYMENTS = type('apps/v1', 'Deployment');

export interface Installed {
  readonly cluster: Cluster;
  readonly standIns: ReadonlySet<StandIn>;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** Resolves when all real parts of the installation are ready; rejects with the parts that are not. */
export async function untilInstalled({ cluster, standIns, seconds, signal }: Installed): Promise<void> {
  await until({ what: 'the installation is ready', seconds, signal }, async () => {
    try {
      const problems = [
        ...(await absent(cluster)),
        ...(standIns.has('deployments') ? [] : await guardProblems(cluster)),
        ...(standIns.has('knative')
          ? []
          : (await Promise.all(KNATIVE.map((each) => unready(cluster, each)))).flat()),
      ];
      return problems.join('; ');
    } catch (error) {
      return describeError(error);
    }
  });
}

async function absent(cluster: Cluster): Promise<string[]> {
  await cluster.get(NAMESPACES, { name: SYSTEM_NAMESPACE });
  await cluster.list(VMMRQS, { namespace: SYSTEM_NAMESPACE });
  return [];
}

async function guardProblems(cluster: Cluster): Promise<string[]> {
  const name = SERVICE_ACCOUNT.guard;
  const { object } = await cluster.get(DEPLOYMENTS, { namespace: SYSTEM_NAMESPACE, name });
  return (object.status?.availableReplicas ?? 0) > 0 ? [] : [`no pod of Deployment ${name} is available`];
}

/** The problems of all objects of one kind in our namespace. */
async function unready(cluster: Cluster, kind: ResourceType<Reporting>): Promise<string[]> {
  const { items } = await cluster.list(kind, { namespace: SYSTEM_NAMESPACE });
  if (items.length === 0) return [`there is no ${kind.kind} in ${SYSTEM_NAMESPACE}`];
  return items.flatMap(({ metadata, status }) => {
    const ready = status?.conditions?.find((condition) => condition.type === 'Ready');
    return ready?.status === 'True'
      ? []
      : [`${kind.kind} ${metadata.name} is not ready: ${rawText(ready?.message ?? 'it does not say why')}`];
  });
}
