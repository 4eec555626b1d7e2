import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES, VMMRQS } from '../../functions/kubernetes/resources.ts';
import { knativeProblems, type Reporting } from './knative-problems.ts';
import type { StandIn } from './options.ts';
import { until } from './until.ts';

const type = (apiVersion: string, kind: string): ResourceType<Reporting> => ({
  apiVersion,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
});

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
        ...(standIns.has('knative') ? [] : await problemsOfKnative(cluster)),
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

async function problemsOfKnative(cluster: Cluster): Promise<string[]> {
  const list = async (kind: ResourceType<Reporting>): Promise<Reporting[]> =>
    (await cluster.list(kind, { namespace: SYSTEM_NAMESPACE })).items;
  const [Broker, Trigger, Service, ApiServerSource] = await Promise.all([
    list(type('eventing.knative.dev/v1', 'Broker')),
    list(type('eventing.knative.dev/v1', 'Trigger')),
    list(type('serving.knative.dev/v1', 'Service')),
    list(type('sources.knative.dev/v1', 'ApiServerSource')),
  ]);
  return knativeProblems({ Broker, Trigger, Service, ApiServerSource });
}
