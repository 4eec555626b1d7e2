import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { SERVICE_ACCOUNT } from '../../functions/domain/names.ts';
import { render } from '../cluster/controlplane/kustomize.ts';
import { knativeObjects, type KnativeService, type Trigger } from '../cluster/eventing/manifests.ts';

/** The fields of a rendered object that these tests use. */
export interface Manifest extends KubernetesObject {
  spec?: unknown;
  rules?: PolicyRule[];
  subjects?: { kind: string; name: string; namespace: string }[];
  roleRef?: { kind: string; name: string };
  webhooks?: Webhook[];
}

export interface PolicyRule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

export interface Webhook {
  name: string;
  timeoutSeconds: number;
  failurePolicy: string;
  sideEffects: string;
  matchPolicy: string;
  clientConfig: { service: { namespace: string; name: string; path: string; port: number } };
  namespaceSelector?: { matchLabels: Record<string, string> };
  objectSelector?: unknown;
  matchConditions: { name: string; expression: string }[];
}

export interface GuardContainer {
  env: { name: string; value: string }[];
  ports: { name: string; containerPort: number }[];
}

/** The objects that `kubectl apply -k config/default` installs, except for the image. */
export const objects: Manifest[] = await render('config/base');
/** Its Services, Triggers, Broker and source, as the stand-ins read them. */
export const knative = knativeObjects(objects);

export const ofKind = (wanted: string): Manifest[] => objects.filter(({ kind }) => kind === wanted);

export const nameOf = ({ kind = '', metadata }: Manifest): string => `${kind} ${metadata.name}`;

export function found<T>(object: T | undefined, what: string): T {
  if (object === undefined) throw new Error(`config/base has no ${what}`);
  return object;
}

export const bindings = (): Manifest[] => [...ofKind('ClusterRoleBinding'), ...ofKind('RoleBinding')];

export const serviceOf = (step: string): KnativeService =>
  found(
    knative.services.find(({ metadata }) => metadata.name === step),
    `Service ${step}`,
  );

export const triggerOf = (step: string): Trigger =>
  found(
    knative.triggers.find(({ metadata }) => metadata.name === `mtq-${step}`),
    `Trigger mtq-${step}`,
  );

export const environmentOf = (step: string): Record<string, string> =>
  Object.fromEntries(
    (serviceOf(step).spec.template.spec.containers[0]?.env ?? []).map(({ name, value = '' }) => [
      name,
      value,
    ]),
  );

interface GuardPod {
  metadata: { labels: object };
  spec: {
    containers: [GuardContainer];
    affinity: { podAntiAffinity: object };
    topologySpreadConstraints: { whenUnsatisfiable: string }[];
    priorityClassName: string;
    terminationGracePeriodSeconds: number;
  };
}

export const guardPod = (): GuardPod =>
  (found(ofKind('Deployment')[0], 'Deployment').spec as { template: ReturnType<typeof guardPod> }).template;

export const guardContainer = (): GuardContainer => guardPod().spec.containers[0];

export const guardEnvironment = (): Record<string, string> =>
  Object.fromEntries(guardContainer().env.map(({ name, value }) => [name, value]));

/** All rights of this process through its roles, as "update resourcequotas" or "list pods". */
export function grantedTo(process: keyof typeof SERVICE_ACCOUNT): string[] {
  const bound = bindings().filter(({ subjects = [] }) =>
    subjects.some(({ name }) => name === SERVICE_ACCOUNT[process]),
  );
  const roles = bound.map(({ roleRef }) => `${roleRef?.kind ?? ''} ${roleRef?.name ?? ''}`);
  const rules = objects.filter((role) => roles.includes(nameOf(role))).flatMap((role) => role.rules ?? []);
  return [...new Set(rules.flatMap(rightsOf))];
}

const rightsOf = ({ apiGroups, resources, resourceNames, verbs }: PolicyRule): string[] =>
  verbs.flatMap((verb) =>
    apiGroups.flatMap((group) =>
      resources.map(
        (resource) =>
          `${verb} ${resource}${group === '' ? '' : `.${group}`}` +
          (resourceNames === undefined ? '' : ` (${resourceNames.join(', ')})`),
      ),
    ),
  );
