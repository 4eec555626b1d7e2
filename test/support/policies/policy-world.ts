import { GROUP, SERVICE_ACCOUNT, SYSTEM_NAMESPACE, userOf } from '../../../functions/domain/names.ts';
import type { KubernetesObject, ResourceQuota } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { isAlreadyExists } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../environment/control-plane.ts';
import { typeOf } from '../../cluster/install.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import { policiesInForce, POLICIES, POLICY_BINDINGS } from '../../cluster/policies-in-force.ts';
import { apiRequests, type ApiAnswer, type ApiRequest } from '../environment/api-request.ts';
import { askUntil } from '../eventually.ts';
import { bindRole, untilAllowed } from '../environment/roles.ts';

/** The source and the text of a refusal. */
export type Verdict =
  | { readonly by: 'none' }
  | {
      /** The policy; 'rbac' or 'other' when no policy refused. */
      readonly by: string;
      readonly code: number;
      readonly text: string;
    };

/** A control plane with policies only, and the users that they concern. */
export interface PolicyWorld {
  readonly admin: Cluster;
  /** The result of a request. Users: editor, repairer, cluster-admin, kubevirt, and the project's service accounts. */
  ask(user: string, request: ApiRequest): Promise<Verdict>;
  /** Resolves when this source answers the request: for objects that the API server applies after a delay. */
  eventually(user: string, request: ApiRequest, by: string): Promise<void>;
  /** Creates or updates a namespace in which pods can be created, with this metadata and quotas. */
  tenant(name: string, metadata: object, quotas: readonly New<ResourceQuota>[]): Promise<void>;
  /** Stops the quota controller: from now on only requests here write status.hard and status.used. */
  pauseControllers(): Promise<void>;
  /** Installs the rendered policies, or the one of this name; resolves when they are in effect. */
  installPolicies(rendered: readonly KubernetesObject[], only?: string): Promise<void>;
  removePolicy(name: string): Promise<void>;
  breakGlass(user: string): Promise<void>;
  /** Rights beyond its own role, so that RBAC refuses no request here. */
  mayEverything(account: string): Promise<void>;
  /** The API server's metrics, as text. */
  metrics(): Promise<string>;
  /** Runs the API server's garbage collection, which otherwise runs in some requests, and not in others. */
  collectGarbage(): Promise<void>;
  stop(): Promise<void>;
}

const EDITORS = [
  { name: 'editor', groups: ['editors'] },
  { name: 'repairer', groups: ['repairers'] },
  { name: 'cluster-admin', groups: ['cluster-admins'] },
];
const KUBEVIRT = { namespace: 'kubevirt', name: 'kubevirt-controller' };
export const CLAIMS: ResourceType = {
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaim',
  plural: 'resourceclaims',
  namespaced: true,
};
/** The rights for all requests here, without break-glass. */
const EVERYTHING = [
  {
    apiGroups: [''],
    resources: [
      ...['namespaces', 'namespaces/status', 'namespaces/finalize'],
      ...['pods', 'pods/resize', 'resourcequotas', 'resourcequotas/status', 'events'],
    ],
    verbs: ['*'],
  },
  { apiGroups: [GROUP], resources: [VMMRQS.plural], verbs: ['*'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['*'] },
  { apiGroups: ['resource.k8s.io'], resources: ['resourceclaims'], verbs: ['*'] },
  {
    apiGroups: ['kubevirt.io'],
    resources: [
      ...['virtualmachineinstancemigrations', 'virtualmachineinstances'],
      ...['virtualmachines', 'virtualmachines/status'],
    ],
    verbs: ['*'],
  },
];

export async function startPolicyWorld(): Promise<PolicyWorld> {
  const controlPlane = await freshControlPlane();
  const admin = connect(controlPlane.adminKubeconfig);
  await admin.create(NAMESPACES, { metadata: { name: SYSTEM_NAMESPACE } });
  await installKubeVirt(admin);
  for (const object of await render('config/rbac')) await admin.create(typeOf(object), object);
  const kubevirt = `system:serviceaccount:${KUBEVIRT.namespace}:${KUBEVIRT.name}`;
  for (const user of [...EDITORS.map(({ name }) => name), kubevirt]) await mayEdit(admin, user);
  const users = await senders(controlPlane);
  const ask = async (user: string, request: ApiRequest): Promise<Verdict> => {
    const send = users.get(user);
    if (send === undefined) throw new Error(`unknown user ${user}`);
    return verdictOf(await send(request));
  };
  const textAt = async (path: string): Promise<string> =>
    String((await apiRequests(controlPlane.adminKubeconfig)({ path, accept: 'text/plain' })).body['message']);
  return {
    admin,
    ask,
    eventually: async (user, request, by) => {
      await askUntil(
        `${by} answers ${request.path}`,
        () => ask(user, request),
        (verdict) => verdict.by === by,
      );
    },
    tenant: (name, metadata, quotas) => tenant(admin, { name, metadata, quotas }),
    pauseControllers: () => controlPlane.pauseControllerManager(),
    installPolicies: async (rendered, only) => {
      const isWanted = ({ kind, metadata }: KubernetesObject): boolean =>
        [POLICIES.kind, POLICY_BINDINGS.kind].includes(kind ?? '') &&
        (only ?? metadata.name) === metadata.name;
      for (const object of rendered.filter(isWanted)) await admin.create(typeOf(object), object);
      await (
        await policiesInForce(admin)
      )();
    },
    removePolicy: async (name) => {
      await admin.delete(POLICY_BINDINGS, { name });
      await admin.delete(POLICIES, { name });
      await (
        await policiesInForce(admin)
      )();
    },
    mayEverything: (account) => mayEdit(admin, userOf(account)),
    breakGlass: (user) => bindRole(admin, { role: 'managed-tenant-quota-break-glass', user }),
    metrics: () => textAt('/metrics'),
    collectGarbage: async () => {
      await textAt('/debug/pprof/heap?gc=1&debug=1');
    },
    stop: () => controlPlane.stop(),
  };
}

let roles = 0;

async function mayEdit(admin: Cluster, user: string): Promise<void> {
  roles += 1;
  await bindRole(admin, { role: `editor-${roles}`, user, rules: EVERYTHING });
  await untilAllowed(admin, user, { verb: 'create', resource: 'pods', allowed: true });
}

async function senders(
  controlPlane: ControlPlane,
): Promise<ReadonlyMap<string, (request: ApiRequest) => Promise<ApiAnswer>>> {
  const users = new Map<string, (request: ApiRequest) => Promise<ApiAnswer>>();
  for (const user of EDITORS) users.set(user.name, apiRequests(await controlPlane.kubeconfigForUser(user)));
  users.set('kubevirt', apiRequests(await controlPlane.kubeconfigFor(KUBEVIRT)));
  for (const name of Object.values(SERVICE_ACCOUNT)) {
    users.set(name, apiRequests(await controlPlane.kubeconfigFor({ namespace: SYSTEM_NAMESPACE, name })));
  }
  return users;
}

interface RequestOptions {
  readonly name: string;
  readonly metadata: object;
  readonly quotas: readonly New<ResourceQuota>[];
}

async function tenant(admin: Cluster, { name, metadata, quotas }: RequestOptions): Promise<void> {
  try {
    await admin.create(NAMESPACES, { metadata: { ...metadata, name } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    await admin.patch(NAMESPACES, { name }, { merge: { metadata } });
  }
  const accounts = typeOf({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: name } });
  await askUntil(
    `${name} has its service account`,
    () => admin.list(accounts, { namespace: name }),
    ({ items }) => items.some((account) => account.metadata.name === 'default'),
  );
  for (const quota of quotas) {
    await admin.create(RESOURCE_QUOTAS, { ...quota, metadata: { ...quota.metadata, namespace: name } });
  }
}

function verdictOf({ code, body }: ApiAnswer): Verdict {
  if (code < 300) return { by: 'none' };
  const message = String(body['message']);
  const refusal = /ValidatingAdmissionPolicy '([^']*)' with binding '[^']*' denied request: (.*)$/.exec(
    message,
  );
  if (refusal !== null) return { by: refusal[1] ?? '', code, text: refusal[2] ?? '' };
  return { by: message.includes(' cannot ') ? 'rbac' : 'other', code, text: message };
}
