import { ANNOTATION, LABEL, PROOF_QUOTA } from '../../../functions/domain/names.ts';
import type { ApiRequest } from '../environment/api-request.ts';
import { breakGlassPatch } from '../../../functions/domain/break-glass.ts';

/**
 * Requests that the guard may have to review, all of them dry runs: for the namespace, its pod `pod` and its quota
 * `quota`.
 */
export const POD_SPEC = {
  containers: [{ name: 'main', image: 'none', resources: { requests: { cpu: '10m' } } }],
};

const DRY_RUN = 'dryRun=All';
const MERGE = 'application/merge-patch+json';

export function createPod(namespace: string): ApiRequest {
  return post(namespace, 'pods', { metadata: { generateName: 'pod-' }, spec: POD_SPEC });
}

export function createQuota(namespace: string): ApiRequest {
  return post(namespace, 'resourcequotas', { metadata: { name: PROOF_QUOTA }, spec: {} });
}

/** The proof request of `raise` for the lock with this token. */
export function createProof(namespace: string, token: string): ApiRequest {
  const metadata = { name: PROOF_QUOTA, annotations: { [ANNOTATION.proof]: token } };
  return post(namespace, 'resourcequotas', { metadata, spec: {} });
}

export function createConfigMap(namespace: string): ApiRequest {
  return post(namespace, 'configmaps', { metadata: { generateName: 'map-' } });
}

export function createNamespace(metadata: object): ApiRequest {
  const body = { metadata: { name: 'tenant-new', ...metadata } };
  return { method: 'POST', path: `/api/v1/namespaces?${DRY_RUN}`, body };
}

function post(namespace: string, plural: string, body: object): ApiRequest {
  return { method: 'POST', path: `/api/v1/namespaces/${namespace}/${plural}?${DRY_RUN}`, body };
}

export function changePod(namespace: string, subresource: string, name = 'pod'): ApiRequest {
  const body =
    subresource === ''
      ? { metadata: { labels: { changed: 'true' } } }
      : { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '20m' } } }] } };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}${subresource}?${DRY_RUN}`;
  return { method: 'PATCH', path, body, contentType: 'application/strategic-merge-patch+json' };
}

/** Its scope changes to Terminating. */
export function giveDeadline(namespace: string): ApiRequest {
  return { ...changePod(namespace, ''), body: { spec: { activeDeadlineSeconds: 60 } } };
}

/** The pod claims another pod identity. */
export function relabelPod(namespace: string, key: string): ApiRequest {
  return { ...changePod(namespace, ''), body: { metadata: { labels: { [key]: 'x' } } } };
}

export function ownPod(namespace: string, name: string): ApiRequest {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'launcher', uid: 'any', controller: true };
  return { ...changePod(namespace, '', name), body: { metadata: { ownerReferences: [owner] } } };
}

const CLAIMS = '/apis/resource.k8s.io/v1/namespaces';
const DEVICES = { requests: [{ name: 'one', exactly: { deviceClassName: 'example.com', count: 1 } }] };
/** A ResourceClaim for one device of the class example.com. */
export const CLAIM = {
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaim',
  metadata: { name: 'claim' },
  spec: { devices: DEVICES },
};

export function createClaim(namespace: string, labels = {}): ApiRequest {
  const body = { ...CLAIM, metadata: { generateName: 'claim-', labels } };
  return { method: 'POST', path: `${CLAIMS}/${namespace}/resourceclaims?${DRY_RUN}`, body };
}

/** A change of the ResourceClaim `claim`. */
export function changeClaim(namespace: string, metadata: object): ApiRequest {
  const path = `${CLAIMS}/${namespace}/resourceclaims/claim?${DRY_RUN}`;
  return { method: 'PATCH', path, body: { metadata }, contentType: MERGE };
}

/** With this key a claim declares that its pod is already charged. */
export const OF_ITS_POD = { annotations: { 'resource.kubernetes.io/extended-resource-claim': 'true' } };

export function changeQuota(namespace: string, subresource = ''): ApiRequest {
  const hard = { hard: { pods: '11' } };
  const body = subresource === '' ? { spec: hard } : { status: hard };
  return { method: 'PATCH', path: quotaPath(namespace, subresource), body, contentType: MERGE };
}

/** `kubectl replace` with a manifest that lacks the project's keys. */
export function replaceQuota(namespace: string): ApiRequest {
  const body = { metadata: { name: 'quota', namespace }, spec: { hard: { services: '9' } } };
  return { method: 'PUT', path: quotaPath(namespace), body };
}

/** A write of the status that also adds the project's label: a PUT as the functions send it, here of a quota without a status. */
export function labelStatus(namespace: string): ApiRequest {
  const metadata = { name: 'quota', namespace, labels: { [LABEL.raised]: 'true' } };
  return { method: 'PUT', path: quotaPath(namespace, '/status'), body: { metadata } };
}

/** Adds the project's label to the quota. */
export const labelQuota = (namespace: string, subresource = ''): ApiRequest => ({
  ...changeQuota(namespace, subresource),
  body: { metadata: { labels: { [LABEL.raised]: 'true' } } },
});

/** Break-glass, by the command in the text of the refusal. */
export const breakGlass = (namespace: string, token: string): ApiRequest =>
  patchNamespace(namespace, { metadata: breakGlassPatch(token) });

/** A server-side apply, which creates a missing object. */
export function applyQuota(namespace: string, name: string): ApiRequest {
  return {
    method: 'PATCH',
    path: `/api/v1/namespaces/${namespace}/resourcequotas/${name}?${DRY_RUN}&fieldManager=git`,
    body: { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name }, spec: { hard: { secrets: '9' } } },
    contentType: 'application/apply-patch+yaml',
  };
}

function quotaPath(namespace: string, subresource = ''): string {
  return `/api/v1/namespaces/${namespace}/resourcequotas/quota${subresource}?${DRY_RUN}`;
}

export function deletion(namespace: string, plural: string): ApiRequest {
  const name = plural === 'pods' ? 'pod' : 'quota';
  return { method: 'DELETE', path: `/api/v1/namespaces/${namespace}/${plural}/${name}?${DRY_RUN}` };
}

export function deletionOfAll(namespace: string, plural: string): ApiRequest {
  return { method: 'DELETE', path: `/api/v1/namespaces/${namespace}/${plural}?${DRY_RUN}` };
}

/** null removes the key. */
export function annotate(name: string, key: string, value: string | null = 'x'): ApiRequest {
  return patchNamespace(name, { metadata: { annotations: { [key]: value } } });
}

export function annotateByStatus(name: string, key: string): ApiRequest {
  return patchNamespace(name, { metadata: { annotations: { [key]: 'x' } } }, '/status');
}

export function label(name: string, value: string | null): ApiRequest {
  return patchNamespace(name, { metadata: { labels: { [LABEL.locked]: value } } });
}

export function patchNamespace(name: string, body: object, subresource = ''): ApiRequest {
  const path = `/api/v1/namespaces/${name}${subresource}?${DRY_RUN}`;
  return { method: 'PATCH', path, body, contentType: MERGE };
}

export function deleteNamespace(name: string): ApiRequest {
  return { method: 'DELETE', path: `/api/v1/namespaces/${name}?${DRY_RUN}` };
}

export function annotateByFinalize(name: string, key: string): ApiRequest {
  const body = { metadata: { name, annotations: { [key]: 'x' } }, spec: { finalizers: ['kubernetes'] } };
  return { method: 'PUT', path: `/api/v1/namespaces/${name}/finalize?${DRY_RUN}`, body };
}

/** `kubectl replace`, by a tool that owns all annotations. */
export const emptyNamespace = (name: string): ApiRequest => ({
  method: 'PUT',
  path: `/api/v1/namespaces/${name}?${DRY_RUN}`,
  body: { metadata: { name } },
});

/** The write of `lock`: annotation and label in one PUT. */
export function replaceNamespace(name: string): ApiRequest {
  const annotations = { [ANNOTATION.lock]: '{}', [ANNOTATION.lastAttempt]: '{}' };
  const body = { metadata: { name, annotations, labels: { [LABEL.locked]: 'true' } } };
  return { method: 'PUT', path: `/api/v1/namespaces/${name}?${DRY_RUN}`, body };
}
