import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../functions/kubernetes/errors.ts';

export const CRDS: ResourceType = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

/** Serves a kind with any content, whose status is a subresource; resolves when it is served. */
export async function serveAnything(cluster: Cluster, type: ResourceType): Promise<void> {
  const { kind, plural, apiVersion, namespaced } = type;
  const [group = '', name = ''] = apiVersion.split('/');
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const spec = {
    ...{ group, scope: namespaced ? 'Namespaced' : 'Cluster', names: { kind, plural } },
    versions: [{ name, served: true, storage: true, subresources: { status: {} }, schema }],
  };
  await cluster.create(CRDS, { metadata: { name: `${plural}.${group}` }, ...{ spec } });
  await untilServed(cluster, type);
}

const WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;

/** The API server serves a new CRD after an unknown delay, so this polls. Rejects with the last refusal. */
export async function untilServed(cluster: Cluster, type: ResourceType): Promise<void> {
  const until = performance.now() + WITHIN_MS;
  for (;;) {
    try {
      await cluster.list(type, {});
      return;
    } catch (error) {
      if (!isNotYet(error) || performance.now() > until) throw error;
    }
    await delay(LOOK_EVERY_MS);
  }
}

/** 404: not served yet; 429: "storage is (re)initializing". */
const isNotYet = (error: unknown): boolean => error instanceof ApiError && [404, 429].includes(error.code);
