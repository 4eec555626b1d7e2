import { LABEL } from '../../../functions/domain/names.ts';
import { apiRequests, type ApiAnswer, type ApiRequest } from '../environment/api-request.ts';
import { askUntil } from '../eventually.ts';
import type { TestEnvironment } from '../environment/test-environment.ts';
import { bindRole, untilAllowed } from '../environment/roles.ts';

const USER = { name: 'tenant-admin', groups: ['tenant-admins'] };
const RESOURCES = ['pods', 'pods/resize', 'resourcequotas', 'resourcequotas/status'];

export type Send = (request: ApiRequest) => Promise<ApiAnswer>;

/** A role with all rights on pods and quotas in all namespaces, and no others. */
export async function asTenantAdmin({ admin, cluster }: TestEnvironment): Promise<Send> {
  await bindRole(admin, {
    role: USER.name,
    user: USER.name,
    rules: [{ apiGroups: [''], resources: RESOURCES, verbs: ['*'] }],
  });
  await untilAllowed(admin, USER.name, { verb: 'create', resource: 'pods', allowed: true });
  return apiRequests(await cluster.controlPlane.kubeconfigForUser(USER));
}

/** Requests on a raised quota that are refused (an edit of its spec and its deletion pass). Small, so that the original's headroom is never the reason. */
export const attempts = (
  namespace: string,
  ofTarget: Readonly<Record<string, string>>,
): Readonly<Record<string, ApiRequest>> => ({
  'a pod': podIn(namespace, {}),
  'a pod with the labels of the target': podIn(namespace, ofTarget),
  'the quota’s label': patchOf(namespace, { metadata: { labels: { [LABEL.raised]: null } } }),
  'a quota that replaces it': {
    method: 'PUT',
    path: pathOf(namespace),
    body: { metadata: { name: 'quota', namespace }, spec: { hard: { pods: '100' } } },
  },
});

const resources = { requests: { cpu: '10m', memory: '1Mi' }, limits: { cpu: '10m', memory: '1Mi' } };

const podIn = (namespace: string, labels: Readonly<Record<string, string>>): ApiRequest => ({
  method: 'POST',
  path: `/api/v1/namespaces/${namespace}/pods`,
  body: {
    metadata: { generateName: 'outside-', labels },
    spec: { containers: [{ name: 'main', image: 'main', resources }] },
  },
});

/** Resolves when the API server admits a pod of the tenant: its own watches may be behind those of the test. */
export async function untilAdmitted(asTenant: Send, namespace: string): Promise<void> {
  await askUntil(
    `a pod gets in in ${namespace}`,
    () => asTenant(podIn(namespace, {})),
    ({ code }) => code === 201,
  );
}

const pathOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/resourcequotas/quota`;

const patchOf = (namespace: string, body: object): ApiRequest => ({
  method: 'PATCH',
  path: pathOf(namespace),
  body,
  contentType: 'application/merge-patch+json',
});
